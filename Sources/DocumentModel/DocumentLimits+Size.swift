extension DocumentLimits {
    /// Bytes of a document name as Firestore counts them: each segment with one more, and 16.
    public static func size(of path: DocumentPath) -> Int { path.string.utf8.count + 1 + 16 }

    /// Bytes of fields as Firestore counts them: names with one more, and values.
    public static func size(of fields: [String: Value]) -> Int {
        fields.reduce(0) { $0 + $1.key.utf8.count + 1 + size(of: $1.value) }
    }

    /// Bytes of a value as Firestore counts them.
    public static func size(of value: Value) -> Int {
        switch value {
        case .null, .boolean: 1
        case .integer, .double, .timestamp: 8
        case .string(let text): text.utf8.count + 1
        case .bytes(let bytes): bytes.count
        case .reference(let name): size(of: name.path)
        case .geoPoint: 16
        case .array(let values): values.reduce(0) { $0 + size(of: $1) }
        case .map(let fields): size(of: fields)
        }
    }

    /// Index entries as Firestore counts them: two for each field, one for each element of an array.
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

extension Value {
    /// The value with all times cut to the microsecond, as it is stored.
    public var truncatedToMicroseconds: Value {
        switch self {
        case .timestamp(let time): .timestamp(time.truncatedToMicroseconds)
        case .array(let values): .array(values.map(\.truncatedToMicroseconds))
        case .map(let fields): .map(fields.mapValues(\.truncatedToMicroseconds))
        default: self
        }
    }
}
