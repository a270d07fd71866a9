extension Document {
    /// About how many bytes the document takes in the host's memory or as Firestore's JSON, whichever is more: a null is
    /// stored as one byte, and takes almost fifty.
    package var weight: Int {
        path.string.utf8.count + 128 + Value.weight(fields)
    }
}

extension Write {
    /// About how many bytes the write takes in the host's memory.
    package var weight: Int {
        let content =
            switch operation {
            case .set(let fields): Value.weight(fields)
            case .update(let fields, let mask):
                mask.reduce(Value.weight(fields)) { $0 + $1.segments.reduce(32) { $0 + 16 + $1.utf8.count } }
            case .delete, .verify: 0
            }
        return transforms.reduce(path.string.utf8.count + 128 + content) { $0 + 64 + $1.operation.weight }
    }
}

extension FieldTransform.Operation {
    fileprivate var weight: Int {
        switch self {
        case .serverTimestamp: 0
        case .increment(let value), .maximum(let value), .minimum(let value): value.contents
        case .arrayUnion(let elements), .arrayRemove(let elements): Value.array(elements).contents
        }
    }
}

extension Value {
    fileprivate static func weight(_ fields: [String: Value]) -> Int {
        // A dictionary has up to twice as many places as fields.
        fields.reduce(32) { $0 + $1.key.utf8.count + field + $1.value.contents }
    }

    private static let field = MemoryLayout<(String, Value)>.stride * 3 / 2
    private static let element = MemoryLayout<Value>.stride

    /// About how many bytes the value takes in the host's memory or as JSON, with its place in a list.
    package var weight: Int { Self.element + contents }

    /// What it takes besides its place in a list or map.
    fileprivate var contents: Int {
        switch self {
        case .string(let text): text.utf8.count + Self.escapes(text)
        case .bytes(let bytes): bytes.count / 3 * 4
        case .reference(let name): name.path.string.utf8.count + 64
        case .array(let elements): elements.reduce(32) { $0 + Self.element + $1.contents }
        case .map(let fields): Self.weight(fields)
        default: 0
        }
    }

    /// The bytes by which control characters are longer as JSON.
    private static func escapes(_ text: String) -> Int {
        var text = text
        return text.withUTF8 { bytes in bytes.reduce(0) { $0 + ($1 < 0x20 ? 5 : 0) } }
    }
}
