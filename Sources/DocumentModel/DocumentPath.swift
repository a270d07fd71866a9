/// The path of a document relative to its database: `users/ada/orders/o1`.
///
/// Segments alternate between collection and document ids; their number is even. Every instance is valid: `init`
/// refuses what Firestore refuses.
public struct DocumentPath: Hashable, Sendable, CustomStringConvertible {
    /// The segments joined by `/`. Ids can't contain a slash, so the string identifies the document.
    public let string: String

    /// - Throws: `invalidArgument` if this isn't a document path.
    public init(_ string: String) throws(DocumentError) {
        let count = try PathSegments.validate(string)
        guard count % 2 == 0 else {
            throw .invalidArgument(
                "\"\(string)\" names a collection; a document path has an even number of segments, such as users/ada")
        }
        self.string = string
    }

    package init(unchecked string: String) { self.string = string }

    public var segments: [Substring] { PathSegments.of(string) }

    /// The last segment.
    public var id: String { String(string[PathSegments.lastSegment(of: string)]) }

    public var parent: CollectionPath {
        CollectionPath(unchecked: PathSegments.dropLast(string))
    }

    /// How many collections are within each other on the way to the document: one for each two segments.
    package var nestedCollections: Int { (string.utf8.count { $0 == UInt8(ascii: "/") } + 1) / 2 }

    /// - Throws: `invalidArgument` if `id` isn't a valid segment.
    public func collection(_ id: String) throws(DocumentError) -> CollectionPath {
        try CollectionPath(string + "/" + id)
    }

    public static func == (a: DocumentPath, b: DocumentPath) -> Bool { TextBytes.equal(a.string, b.string) }

    public func hash(into hasher: inout Hasher) { TextBytes.hash(string, into: &hasher) }

    public var description: String { string }
}

/// The path of a collection relative to its database: `users/ada/orders`.
public struct CollectionPath: Hashable, Sendable, CustomStringConvertible {
    public let string: String

    /// - Throws: `invalidArgument` if this isn't a collection path.
    public init(_ string: String) throws(DocumentError) {
        let count = try PathSegments.validate(string)
        guard count % 2 == 1 else {
            throw .invalidArgument(
                "\"\(string)\" names a document; a collection path has an odd number of segments, such as users")
        }
        self.string = string
    }

    package init(unchecked string: String) { self.string = string }

    /// The collection's id: the last segment.
    public var id: String { String(string[PathSegments.lastSegment(of: string)]) }

    /// Whether the document is directly in this collection. Avoids building its parent's path.
    public func contains(_ document: DocumentPath) -> Bool {
        let collection = string.utf8
        let path = document.string.utf8
        guard path.count > collection.count + 1, path.starts(with: collection) else { return false }
        let rest = path.dropFirst(collection.count)
        return rest.first == UInt8(ascii: "/") && !rest.dropFirst().contains(UInt8(ascii: "/"))
    }

    /// The document above this collection; nil at the root.
    public var parent: DocumentPath? {
        let rest = PathSegments.dropLast(string)
        return rest.isEmpty ? nil : DocumentPath(unchecked: rest)
    }

    /// - Throws: `invalidArgument` if `id` isn't a valid segment.
    public func document(_ id: String) throws(DocumentError) -> DocumentPath {
        try DocumentPath(string + "/" + id)
    }

    public static func == (a: CollectionPath, b: CollectionPath) -> Bool { TextBytes.equal(a.string, b.string) }

    public func hash(into hasher: inout Hasher) { TextBytes.hash(string, into: &hasher) }

    public var description: String { string }
}

/// The rules for segments of all paths, including Firestore's limits.
enum PathSegments {
    static let maxSegmentBytes = 1500
    static let maxPathBytes = 6 * 1024

    /// Splits at slash bytes: a slash with a combining mark is one character to Swift, which `==` doesn't treat as a
    /// separator.
    static func of(_ string: String) -> [Substring] {
        string.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false).map(Substring.init)
    }

    /// - Returns: The number of segments.
    static func validate(_ string: String) throws(DocumentError) -> Int {
        var text = string
        if let count = text.withUTF8(countOfValid) { return count }
        return try validateOneByOne(string)
    }

    /// The number of segments if all are valid, in one pass: paths are read from storage all the time.
    private static func countOfValid(_ path: UnsafeBufferPointer<UInt8>) -> Int? {
        guard path.count <= maxPathBytes else { return nil }
        var (count, start) = (0, 0)
        for end in 0...path.count where end == path.count || path[end] == UInt8(ascii: "/") {
            let segment = UnsafeBufferPointer(rebasing: path[start..<end])
            guard let first = segment.first, segment.count <= maxSegmentBytes else { return nil }
            // Might be ".", ".." or __*__.
            if first == UInt8(ascii: "."), segment.count <= 2 { return nil }
            if first == UInt8(ascii: "_"), segment.count >= 4, segment[segment.count - 1] == first { return nil }
            count += 1
            start = end + 1
        }
        return count
    }

    /// Throws the error for the first invalid segment, if any.
    private static func validateOneByOne(_ string: String) throws(DocumentError) -> Int {
        guard !string.isEmpty else { throw .invalidArgument("a path must not be empty") }
        guard string.utf8.count <= maxPathBytes else {
            throw .invalidArgument("a document name is longer than 6 KiB, the limit")
        }
        var count = 0
        for segment in of(string) {
            count += 1
            guard !segment.isEmpty else {
                throw .invalidArgument("\"\(string)\" has an empty segment")
            }
            guard segment.utf8.count <= maxSegmentBytes else {
                throw .invalidArgument("a segment of a path is longer than 1,500 bytes, the limit")
            }
            guard segment != ".", segment != ".." else {
                throw .invalidArgument("\"\(string)\" has a segment \"\(segment)\", which is not allowed")
            }
            guard
                !(segment.utf8.starts(with: "__".utf8) && segment.utf8.suffix(2).elementsEqual("__".utf8)
                    && segment.utf8.count >= 4) || count % 2 == 0 && NumericID(segment.utf8) != nil
            else {
                throw .invalidArgument("\"\(string)\" has a segment of the reserved form __*__")
            }
        }
        return count
    }

    static func lastSegment(of string: String) -> Range<String.Index> {
        let slash = string.utf8.lastIndex(of: UInt8(ascii: "/"))
        return (slash.map(string.utf8.index(after:)) ?? string.startIndex)..<string.endIndex
    }

    static func dropLast(_ string: String) -> String {
        guard let slash = string.utf8.lastIndex(of: UInt8(ascii: "/")) else { return "" }
        return String(string[..<slash])
    }
}

extension String {
    /// The path without one slash at either end: Firebase's libraries accept `/users/ada/`.
    package var withoutOuterSlashes: String {
        let slash = UInt8(ascii: "/")
        guard utf8.count > 1, utf8.first == slash || utf8.last == slash else { return self }
        let path = utf8.first == slash ? utf8.dropFirst() : utf8[...]
        return String(Substring(path.last == slash ? path.dropLast() : path))
    }
}
