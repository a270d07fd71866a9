extension Document {
    /// About how many bytes the document takes in the host's memory, and as Firestore's JSON: a null is stored as one
    /// byte, but takes some twenty of either.
    package var weight: Int {
        path.string.utf8.count + 128 + Value.weight(fields)
    }
}

extension Value {
    fileprivate static func weight(_ fields: [String: Value]) -> Int {
        fields.reduce(32) { $0 + $1.key.utf8.count + 24 + $1.value.weight }
    }

    fileprivate var weight: Int {
        switch self {
        case .string(let text): 24 + text.utf8.count
        case .bytes(let bytes): 24 + bytes.count / 3 * 4
        case .reference(let name): 24 + name.path.string.utf8.count + 64
        case .array(let elements): elements.reduce(32) { $0 + $1.weight }
        case .map(let fields): 32 + Self.weight(fields)
        default: 24
        }
    }
}
