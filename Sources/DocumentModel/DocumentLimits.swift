import TextFormats

/// Firestore's limits on stored documents. A violation fails with `invalidArgument` and a message that names the limit.
///
/// Two limits are our own. Field names must be in Unicode normalization form C (NFC): names that Unicode considers
/// equal then have the same bytes, so that lookups by name and by index key agree. And a document must not take more
/// memory than a read may return: very many small values take much more than they count.
public enum DocumentLimits {
    public static let maxDocumentBytes = 1_048_576
    /// The most that a document's ``Document/weight`` may be.
    package static let maxWeight = 32 * 1024 * 1024
    public static let maxDepth = 20
    /// How many collections may be within each other on the way to a document that is written or referred to.
    package static let maxNestedCollections = 100
    public static let maxTransforms = 500
    public static let maxIndexEntries = 40_000
    public static let maxIndexBytes = 8 * 1024 * 1024
    /// The maximum size of an index key. A longer value is truncated there, and compared in full on the document.
    public static let maxIndexedValueBytes = 1500
    public static let maxFieldNameBytes = 1500
    /// The maximum size of a field path, with a dot between two names.
    public static let maxFieldPathBytes = 1500
    /// The maximum size of a string or bytes value: 1 MiB minus 89 bytes.
    public static let maxValueBytes = 1_048_487
    public static let maxVectorElements = 2048
    /// The paths of a mask in a request: more than a document may have fields with index entries.
    package static let maxMaskPaths = 50_000
    public static let maxRequestBytes = 10 * 1024 * 1024

    /// Checks a document's fields as they would be stored, assuming automatic indexes for each field.
    public static func check(_ fields: [String: Value], of path: DocumentPath) throws(DocumentError) {
        try checkContent(fields, of: path)
        let bytes = indexBytes(of: fields, below: size(of: path))
        try check(entries: indexEntries(of: fields), bytes: bytes, of: path)
    }

    /// Checks a document's fields as they would be stored, except for their index entries.
    package static func checkContent(_ fields: [String: Value], of path: DocumentPath) throws(DocumentError) {
        try checkNesting(of: path)
        try check(fields, depth: 0, below: 0, of: path)
        let size = size(of: path) + size(of: fields) + 32
        guard size <= maxDocumentBytes else {
            throw .invalidArgument(
                "document \"\(path)\" would have \(size) bytes, more than 1 MiB (1,048,576 bytes), the limit")
        }
    }

    /// Checks what a document would take in memory.
    ///
    /// - Parameter weight: as ``Document/weight``.
    package static func check(weight: Int, of path: DocumentPath) throws(DocumentError) {
        guard weight <= maxWeight else {
            throw .invalidArgument(
                "document \"\(path)\" would take about \(weight) bytes in memory or as JSON, more than "
                    + "32 MiB, the limit; it has too many small values")
        }
    }

    /// Checks an encoded request before it's decoded, which hashes the names of fields: see ``CombiningMarks``.
    package static func checkMarks(in request: [UInt8]) throws(DocumentError) {
        guard request.withUnsafeBytes({ CombiningMarks.areFew(in: $0) }) else {
            throw .invalidArgument(
                "a text has more than \(CombiningMarks.most) combining marks, such as accents, one after the other")
        }
    }

    private static func checkNesting(of path: DocumentPath) throws(DocumentError) {
        guard path.nestedCollections <= maxNestedCollections else {
            throw .invalidArgument(
                "a path leads through \(path.nestedCollections) collections within each other, more than 100, the limit"
            )
        }
    }

    /// Checks the number and total key size of a document's index entries.
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

    /// Checks a name in a map or a field path.
    public static func checkFieldName(_ name: String) throws(DocumentError) {
        guard !name.isEmpty else { throw .invalidArgument("a field name must not be empty") }
        guard name.utf8.count <= maxFieldNameBytes else {
            throw .invalidArgument("a field name is longer than 1,500 bytes, the limit")
        }
        guard !(name.utf8.count >= 4 && name.hasPrefix("__") && name.hasSuffix("__")) else {
            throw .invalidArgument("the field name \"\(name)\" has the reserved form __*__")
        }
    }

    /// Checks a field path of a mask, transform or query. Later code may then recurse along it.
    ///
    /// - Parameters:
    ///   - field: the path to check.
    ///   - isTransformed: a transform reaches the deepest fields that documents have, and the longest. On Firestore, masks
    ///     and queries don't.
    /// - Throws: `invalidArgument` with the limit that the path exceeds.
    public static func check(_ field: FieldPath, isTransformed: Bool = false) throws(DocumentError) {
        try checkSize(of: field, isTransformed: isTransformed)
        for segment in field.segments { try checkFieldName(segment) }
    }

    /// Checks the size of a field path, as of a mask of what is read.
    package static func checkSize(of field: FieldPath, isTransformed: Bool = false) throws(DocumentError) {
        let most = isTransformed ? maxDepth + 1 : maxDepth
        guard field.segments.count <= most else {
            throw .invalidArgument("a field path has \(field.segments.count) names, more than \(most), the limit")
        }
        let bytes = field.segments.reduce(field.segments.count - 1) { $0 + $1.utf8.count }
        guard bytes <= (isTransformed ? maxFieldPathBytes : maxFieldPathBytes - 1) else {
            throw .invalidArgument("a field path is longer than 1,500 bytes, the limit")
        }
    }

    /// Checks what a filter compares with: names and vectors as documents can have them.
    package static func checkOperand(_ value: Value) throws(DocumentError) {
        switch value {
        case .array(let values): for value in values { try checkOperand(value) }
        case .map(let fields):
            if let elements = value.vectorElements { return try checkVector(elements, "a filter") }
            for (name, value) in fields {
                // No document has an empty name, so that the filter finds none, as on Firestore.
                if !name.isEmpty { try checkFieldName(name) }
                try checkOperand(value)
            }
        default: return
        }
    }

    /// - Parameter name: The size of the path above these fields, including dots.
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
        case .null, .boolean, .integer, .double: return
        case .reference(let name): try checkNesting(of: name.path)
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
                try checkVector(elements, "\"\(path)\"")
            } else {
                try check(fields, depth: depth + 1, below: name + 1, of: path)
            }
        }
    }

    private static func checkVector(
        _ elements: [Value], _ place: @autoclosure () -> String
    ) throws(DocumentError) {
        guard (1...maxVectorElements).contains(elements.count) else {
            throw .invalidArgument(
                "a vector in \(place()) has \(elements.count) elements; it must have 1 to 2,048")
        }
        for element in elements {
            guard case .double(let number) = element, !number.isNaN else {
                throw .invalidArgument("a vector in \(place()) contains an element that isn't a double, or is NaN")
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
