import HostJSON
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
    /// - Throws: an ``IdentityToolkitError`` for a body that is too large or neither form nor JSON object.
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
            guard let node = try? JSONParser.parse(bytes), case .object(let members) = node.kind else {
                throw IdentityToolkitError.invalidBody
            }
            fields = Dictionary(members.map { ($0.key, $0.value) }) { first, _ in first }
        }
    }

    /// A field's text; nil where it is missing, empty or something else.
    subscript(_ name: String) -> String? {
        guard let text = fields[name]?.text, !text.isEmpty else { return nil }
        return text
    }

    /// A field that is true or false.
    func flag(_ name: String) -> Bool? {
        guard case .boolean(let flag)? = fields[name]?.kind else { return nil }
        return flag
    }

    /// A field that is one text or a list of texts.
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
        String(decoding: part.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: " ") : $0 }, as: UTF8.self)
            .removingPercentEncoding
    }
}
