/// Firestore's limits on what is stored. Each is refused with `invalidArgument` and a message that names it.
///
/// One more than Firestore has is the store's own: names of fields are in Unicode's normal form C (NFC). Two names that
/// Unicode takes for the same are then the same bytes, so that what finds fields by name and what finds them by the
/// bytes of an index agree.
public enum DocumentLimits {
    public static let maxDocumentBytes = 1_048_576
    public static let maxDepth = 20
    public static let maxTransforms = 500
    public static let maxIndexEntries = 40_000
    public static let maxIndexBytes = 8 * 1024 * 1024
    /// Of an index key; a longer value is cut there, and compared in full on the document.
    public static let maxIndexedValueBytes = 1500
    public static let maxFieldNameBytes = 1500
    /// Of the names on the way to a field, with a point between two.
    public static let maxFieldPathBytes = 1500
    /// Of one text or one run of bytes: 1 MiB without 89 bytes.
    public static let maxValueBytes = 1_048_487
    public static let maxVectorElements = 2048
    public static let maxRequestBytes = 10 * 1024 * 1024

    /// Checks a document's fields as they would be stored, where each field has the index entries that it has by itself.
    public static func check(_ fields: [String: Value], of path: DocumentPath) throws(DocumentError) {
        try checkContent(fields, of: path)
        let bytes = indexBytes(of: fields, below: size(of: path))
        try check(entries: indexEntries(of: fields), bytes: bytes, of: path)
    }

    /// Checks a document's fields as they would be stored, but for their index entries.
    package static func checkContent(_ fields: [String: Value], of path: DocumentPath) throws(DocumentError) {
        try check(fields, depth: 0, below: 0, of: path)
        let size = size(of: path) + size(of: fields) + 32
        guard size <= maxDocumentBytes else {
            throw .invalidArgument(
                "document \"\(path)\" would have \(size) bytes, more than 1 MiB (1,048,576 bytes), the limit")
        }
    }

    /// Checks how many index entries a document would have, and the bytes of their keys.
    package static func check(entries: Int, bytes: Int, of path: DocumentPath) throws(DocumentError) {
        guard entries <= maxIndexEntries else {
            throw .invalidArgument(
                "document \"\(path)\" would have \(entries) index entries, more than 40,000, the limit")
        }
        guard bytes <= maxIndexBytes else {
            throw .invalidArgument(
                "document \"\(path)\" would have \(bytes) bytes of index entries, more than 8 MiB, the limit")
        }
    }

    /// Checks a name as it stands in a map or a field path.
    public static func checkFieldName(_ name: String) throws(DocumentError) {
        guard !name.isEmpty else { throw .invalidArgument("a field name must not be empty") }
        guard name.utf8.count <= maxFieldNameBytes else {
            throw .invalidArgument("a field name is longer than 1,500 bytes, the limit")
        }
        guard !(name.utf8.count >= 4 && name.hasPrefix("__") && name.hasSuffix("__")) else {
            throw .invalidArgument("the field name \"\(name)\" has the reserved form __*__")
        }
    }

    /// Checks a way to a field as masks, transforms and queries name it. What follows it may then do so by recursion.
    public static func check(_ field: FieldPath) throws(DocumentError) {
        guard field.segments.count <= maxDepth + 1 else {
            throw .invalidArgument(
                "a field path has \(field.segments.count) names, and leads deeper than 20 levels, the limit")
        }
        guard field.segments.reduce(field.segments.count - 1, { $0 + $1.utf8.count }) <= maxFieldPathBytes else {
            throw .invalidArgument("a field path is longer than 1,500 bytes, the limit")
        }
        for segment in field.segments { try checkFieldName(segment) }
    }

    /// - Parameter name: bytes of the names on the way to these fields, each with its point.
    private static func check(
        _ fields: [String: Value], depth: Int, below name: Int, of path: DocumentPath
    ) throws(DocumentError) {
        for (field, value) in fields {
            try checkFieldName(field)
            let length = name + field.utf8.count
            guard length <= maxFieldPathBytes else {
                throw .invalidArgument("\"\(path)\" has a field whose path is longer than 1,500 bytes, the limit")
            }
            try check(value, depth: depth, inArray: false, below: length, of: path)
        }
    }

    private static func check(
        _ value: Value, depth: Int, inArray: Bool, below name: Int, of path: DocumentPath
    ) throws(DocumentError) {
        switch value {
        case .null, .boolean, .integer, .double, .reference: return
        case .string(let text): try checkValueBytes(text.utf8.count, of: path)
        case .bytes(let bytes): try checkValueBytes(bytes.count, of: path)
        case .timestamp(let time):
            guard time.isInRange else {
                throw .invalidArgument("a timestamp in \"\(path)\" is not within the years 1 to 9999")
            }
        case .geoPoint(let point):
            guard point.isValid else {
                throw .invalidArgument(
                    "a geo point in \"\(path)\" is not within latitude -90...90 and longitude -180...180")
            }
        case .array(let values):
            guard !inArray else { throw .invalidArgument("an array in \"\(path)\" directly contains an array") }
            try checkDepth(depth + 1, of: path)
            for value in values { try check(value, depth: depth + 1, inArray: true, below: name, of: path) }
        case .map(let fields):
            try checkDepth(depth + 1, of: path)
            if let elements = value.vectorElements {
                guard !inArray else { throw .invalidArgument("an array in \"\(path)\" directly contains a vector") }
                try checkVector(elements, of: path)
            } else {
                try check(fields, depth: depth + 1, below: name + 1, of: path)
            }
        }
    }

    private static func checkVector(_ elements: [Value], of path: DocumentPath) throws(DocumentError) {
        guard (1...maxVectorElements).contains(elements.count) else {
            throw .invalidArgument(
                "a vector in \"\(path)\" has \(elements.count) elements, and must have 1 to 2,048, the limit")
        }
        for element in elements {
            guard case .double(let number) = element, !number.isNaN else {
                throw .invalidArgument("a vector in \"\(path)\" holds something that is no double, or NaN")
            }
        }
    }

    private static func checkValueBytes(_ count: Int, of path: DocumentPath) throws(DocumentError) {
        guard count <= maxValueBytes else {
            throw .invalidArgument("a value in \"\(path)\" has \(count) bytes, more than 1,048,487 bytes, the limit")
        }
    }

    private static func checkDepth(_ depth: Int, of path: DocumentPath) throws(DocumentError) {
        guard depth <= maxDepth else {
            throw .invalidArgument("\"\(path)\" has maps or arrays nested deeper than 20 levels, the limit")
        }
    }
}
