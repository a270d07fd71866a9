package import DocumentModel
package import StrictJSON

extension ClientIdentity {
    /// The user of a verified token.
    ///
    /// - Parameter claims: the token's payload, a JSON object.
    package init(uid: String, claims: [UInt8]) {
        var all: [String: Value] = [:]
        if let node = try? JSONNode(parsing: claims), case .map(let members) = Value(node) { all = members }
        self.init(uid: uid, claims: all)
    }
}

extension Value {
    /// The fields of a JSON object, for an explanation: numbers without a point are integers.
    package static func fields(json: [UInt8]) throws(JSONProblem) -> [String: Value] {
        let node = try JSONNode(parsing: json)
        guard case .map(let fields) = Value(node) else { throw JSONProblem(offset: 0, message: "expected an object") }
        return fields
    }

    fileprivate init(_ node: JSONNode) {
        switch node.kind {
        case .null: self = .null
        case .boolean(let value): self = .boolean(value)
        case .integer(let number): self = Int64(exactly: number).map { .integer($0) } ?? .double(Double(number))
        case .double(let number): self = .double(number)
        case .string(let text): self = .string(text)
        case .array(let elements): self = .array(elements.map { Value($0) })
        case .object(let members): self = .map(Dictionary(members.map { ($0.key, Value($0.value)) }) { $1 })
        }
    }
}
