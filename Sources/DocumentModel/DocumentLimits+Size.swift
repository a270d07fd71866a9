extension DocumentLimits {
    /// The size of a document name as Firestore counts it: each segment's bytes plus 1, plus 16.
    public static func size(of path: DocumentPath) -> Int { path.string.utf8.count + 1 + 16 }

    /// The size of a write's content.
    package static func size(of write: Write) -> Int {
        var size = size(of: write.path)
        switch write.operation {
        case .set(let fields), .update(let fields, _): size += Self.size(of: fields)
        case .delete, .verify: break
        }
        for transform in write.transforms {
            switch transform.operation {
            case .arrayUnion(let values), .arrayRemove(let values): size += Self.size(of: ["": .array(values)])
            case .serverTimestamp, .increment, .maximum, .minimum: size += 16
            }
        }
        return size
    }

    /// The size of fields as Firestore counts it: each name's bytes plus 1, and each value.
    public static func size(of fields: [String: Value]) -> Int {
        fields.reduce(0) { $0 + $1.key.utf8.count + 1 + size(of: $1.value) }
    }

    /// The size of a value as Firestore counts it.
    public static func size(of value: Value) -> Int {
        switch value {
        case .null, .boolean: 1
        case .integer, .double, .timestamp: 8
        case .string(let text): text.utf8.count + 1
        case .bytes(let bytes): bytes.count
        case .reference(let name): size(of: name.path)
        case .geoPoint: 16
        case .array(let values): values.isEmpty ? 1 : values.reduce(0) { $0 + size(of: $1) }
        // A vector counts as its numbers, without the field names of its map form.
        case .map(let fields):
            if let elements = value.vectorElements { elements.count * 8 } else { fields.isEmpty ? 1 : size(of: fields) }
        }
    }

    /// The approximate size of the keys of a document's index entries. Each key holds the document's name, the field's
    /// path and the truncated value, so a long name or deep field names above a long array multiply.
    ///
    /// - Parameter path: The size of the document's name and of the path above the fields.
    static func indexBytes(of fields: [String: Value], below path: Int) -> Int {
        fields.reduce(0) { sum, field in
            let path = path + field.key.utf8.count + 1
            let own = path + min(size(of: field.value), maxIndexedValueBytes)
            switch field.value {
            case .array(let elements):
                return sum + own + elements.reduce(0) { $0 + path + min(size(of: $1), maxIndexedValueBytes) }
            case .map(let inner) where field.value.vectorElements == nil:
                return sum + own + indexBytes(of: inner, below: path)
            default: return sum + own
            }
        }
    }

    /// The number of index entries as Firestore counts them: two per field, one per array element.
    static func indexEntries(of fields: [String: Value]) -> Int {
        fields.values.reduce(0) { count, value in
            switch value {
            case .array(let elements): count + 2 + elements.count
            case .map(let inner) where value.vectorElements == nil: count + 2 + indexEntries(of: inner)
            default: count + 2
            }
        }
    }
}

extension [String: Value] {
    /// The fields with all times truncated to microseconds, as they are stored.
    public var truncatedToMicroseconds: [String: Value] {
        // Usually no time needs truncation; this avoids the copy.
        values.allSatisfy { $0.isWholeMicroseconds } ? self : mapValues { $0.truncatedToMicroseconds }
    }
}

extension Value {
    /// The value with all times truncated to microseconds, as it is stored.
    public var truncatedToMicroseconds: Value {
        switch self {
        case .timestamp(let time): .timestamp(time.truncatedToMicroseconds)
        case .array(let values): .array(values.map(\.truncatedToMicroseconds))
        case .map(let fields): .map(fields.truncatedToMicroseconds)
        default: self
        }
    }

    /// Whether all times in the value have at most microsecond precision.
    fileprivate var isWholeMicroseconds: Bool {
        switch self {
        case .timestamp(let time): time.nanoseconds % 1000 == 0
        case .array(let values): values.allSatisfy { $0.isWholeMicroseconds }
        case .map(let fields): fields.values.allSatisfy { $0.isWholeMicroseconds }
        default: true
        }
    }
}
