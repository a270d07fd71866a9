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
        case .array(let values): values.isEmpty ? 1 : values.reduce(0) { $0 + size(of: $1) }
        // A vector counts as its numbers, without the names of its form.
        case .map(let fields):
            if let elements = value.vectorElements { elements.count * 8 } else { fields.isEmpty ? 1 : size(of: fields) }
        }
    }

    /// About how many bytes the keys of a document's index entries have: each holds the document's name, the path of its
    /// field and the value, cut. A long name, or deep names above a long array, would multiply.
    ///
    /// - Parameter path: bytes of the document's name and of what the fields stand below.
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

extension [String: Value] {
    /// The fields with all times cut to the microsecond, as they are stored.
    public var truncatedToMicroseconds: [String: Value] {
        // Most are already, and a copy would be made for nothing.
        values.allSatisfy { $0.isWholeMicroseconds } ? self : mapValues { $0.truncatedToMicroseconds }
    }
}

extension Value {
    /// The value with all times cut to the microsecond, as it is stored.
    public var truncatedToMicroseconds: Value {
        switch self {
        case .timestamp(let time): .timestamp(time.truncatedToMicroseconds)
        case .array(let values): .array(values.map(\.truncatedToMicroseconds))
        case .map(let fields): .map(fields.truncatedToMicroseconds)
        default: self
        }
    }

    /// Whether no time in it is finer than a microsecond.
    fileprivate var isWholeMicroseconds: Bool {
        switch self {
        case .timestamp(let time): time.nanoseconds % 1000 == 0
        case .array(let values): values.allSatisfy { $0.isWholeMicroseconds }
        case .map(let fields): fields.values.allSatisfy { $0.isWholeMicroseconds }
        default: true
        }
    }
}
