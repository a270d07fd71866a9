import StrictJSON
import TextFormats
import TokenVerification
import Foundation
import HTTPTypes
import Hummingbird
import NIOCore

/// The fields of a sign-in request, from JSON or from a form.
struct SignInRequest {
    private var fields: [String: JSONNode]

    static let maxBytes = 64 * 1024

    /// Reads the body; an empty one has no fields.
    ///
    /// - Throws: an ``IdentityToolkitError`` if the body is too large, or neither a form nor a JSON object.
    init(reading request: Request) async throws {
        var body = try await request.body.collect(upTo: Self.maxBytes)
        let bytes = body.readBytes(length: body.readableBytes) ?? []
        guard !bytes.isEmpty else {
            fields = [:]
            return
        }
        if request.headers[.contentType]?.hasPrefix("application/x-www-form-urlencoded") == true {
            fields = try Self.form(bytes)
        } else {
            guard let node = try? JSONNode(parsing: bytes), case .object(let members) = node.kind else {
                throw IdentityToolkitError.invalidBody
            }
            fields = Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first }
        }
    }

    /// The string value of a field; nil if it is missing, empty or not a string.
    subscript(_ name: String) -> String? {
        guard let text = fields[name]?.text, !text.isEmpty else { return nil }
        return text
    }

    /// The value of a Boolean field.
    func flag(_ name: String) -> Bool? {
        guard case .boolean(let flag)? = fields[name]?.kind else { return nil }
        return flag
    }

    /// The values of a field that is a string or a list of strings.
    func texts(_ name: String) -> [String] {
        guard let node = fields[name] else { return [] }
        guard case .array(let elements) = node.kind else { return node.text.map { [$0] } ?? [] }
        return elements.compactMap(\.text)
    }

    private static func form(_ bytes: [UInt8]) throws -> [String: JSONNode] {
        var fields: [String: JSONNode] = [:]
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = text(parts[0]), let value = text(parts.count == 2 ? parts[1] : []) else {
                throw IdentityToolkitError.invalidBody
            }
            fields[name] = JSONNode(kind: .string(value), offset: 0)
        }
        return fields
    }

    private static func text(_ part: ArraySlice<UInt8>) -> String? {
        PercentEncoding.decoded(bytes: part, plusIsSpace: true)
    }
}
