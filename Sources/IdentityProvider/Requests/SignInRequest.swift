import StrictJSON
import TextFormats

/// The fields of a request, or of a message inside one.
///
/// Names are in camel case; requests may also have them in snake case. A text may be sent as a number, and a number as a
/// text: clients do both.
struct SignInRequest: Sendable {
    private var fields: [String: JSONNode]

    static let empty = SignInRequest(members: [])

    init(members: [JSONNode.Member]) {
        fields = [:]
        for member in members {
            if case .null = member.value.kind { continue }
            let name = ProtoNames.camelCase(member.key)
            if fields[name] == nil { fields[name] = member.value }
        }
    }

    /// - Throws: an ``IdentityToolkitError`` if the body isn't a JSON object.
    init(json bytes: [UInt8]) throws {
        guard !bytes.isEmpty else {
            self = .empty
            return
        }
        do throws(JSONProblem) {
            self.init(members: try JSONNode(parsing: bytes).members())
        } catch {
            throw IdentityToolkitError.invalidBody(error.message)
        }
    }

    /// - Throws: an ``IdentityToolkitError`` if the body isn't a form.
    init(form bytes: [UInt8]) throws {
        guard let pairs = FormFields.pairs(bytes) else {
            throw IdentityToolkitError.invalidBody("the body is not a form")
        }
        self.init(
            members: pairs.map { .init(key: $0, offset: 0, value: JSONNode(kind: .string($1), offset: 0)) })
    }

    /// The text of a field; nil if it is missing or empty.
    subscript(_ name: String) -> String? {
        switch fields[name]?.kind {
        case .string(let text): text.isEmpty ? nil : text
        case .integer(let number): String(number)
        case .boolean(let flag): String(flag)
        default: nil
        }
    }

    /// Whether the field is there, whatever its value.
    func has(_ name: String) -> Bool { fields[name] != nil }

    /// Whether the field is an empty text, which takes a value away where a missing one leaves it.
    func isEmpty(_ name: String) -> Bool {
        guard case .string("") = fields[name]?.kind else { return false }
        return true
    }

    mutating func set(_ name: String, to flag: Bool) { fields[name] = JSONNode(kind: .boolean(flag), offset: 0) }

    func flag(_ name: String) -> Bool? {
        switch fields[name]?.kind {
        case .boolean(let flag): flag
        case .string("true"): true
        case .string("false"): false
        default: nil
        }
    }

    mutating func set(_ name: String, to number: Int64) {
        fields[name] = JSONNode(kind: .integer(number), offset: 0)
    }

    func integer(_ name: String) -> Int64? { try? fields[name]?.integer() }

    /// The texts of a field that is a list, or one text.
    func texts(_ name: String) -> [String] {
        guard let node = fields[name] else { return [] }
        guard case .array(let elements) = node.kind else { return self[name].map { [$0] } ?? [] }
        return elements.compactMap { element -> String? in
            switch element.kind {
            case .string(let text): text
            case .integer(let number): String(number)
            default: nil
            }
        }
    }

    /// A field that is a message; nil if it isn't one.
    func message(_ name: String) -> SignInRequest? { fields[name].flatMap(Self.init(node:)) }

    /// The messages of a field that is a list.
    func messages(_ name: String) -> [SignInRequest] {
        guard case .array(let elements)? = fields[name]?.kind else { return [] }
        return elements.map { Self(node: $0) ?? .empty }
    }

    /// The value of an enum: its name, or the one at its number.
    func choice(_ name: String, _ values: [String]) -> String? {
        guard let number = integer(name) else { return self[name] }
        return values.indices.contains(Int(clamping: number)) ? values[Int(number)] : self[name]
    }

    /// - Returns: nil if the node isn't an object.
    init?(node: JSONNode) {
        guard case .object(let members) = node.kind else { return nil }
        self.init(members: members)
    }
}
