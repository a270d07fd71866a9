/// The path to a field through nested maps: `address.city`. Paths are equal if their bytes are.
public struct FieldPath: Hashable, Sendable, CustomStringConvertible {
    public let segments: [String]

    /// Uses the segments unchanged, including dots.
    /// - Precondition: There is at least one segment.
    public init(segments: [String]) {
        precondition(!segments.isEmpty, "a field path has at least one segment")
        self.segments = segments
    }

    /// Parses the dotted form, such as `address.city`. A segment that isn't a plain identifier is quoted in backticks, in
    /// which a backslash escapes a backtick or a backslash.
    ///
    /// - Throws: `invalidArgument` if a segment is empty or a backtick isn't closed.
    public init(_ dotted: String) throws(DocumentError) {
        var segments: [String] = []
        var bytes: [UInt8] = []
        var quoted = false
        var closed = false
        var iterator = dotted.utf8.makeIterator()
        func malformed(_ why: String) -> DocumentError { .invalidArgument("field path \"\(dotted)\" \(why)") }
        func finish() throws(DocumentError) {
            guard closed || !bytes.isEmpty else { throw malformed("has an empty segment") }
            segments.append(String(decoding: bytes, as: UTF8.self))
            bytes = []
            closed = false
        }
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "\\") where quoted:
                guard let escaped = iterator.next() else { throw malformed("ends in a backslash") }
                bytes.append(escaped)
            case UInt8(ascii: "`") where quoted:
                quoted = false
                closed = true
            case UInt8(ascii: "`"):
                guard bytes.isEmpty, !closed else { throw malformed("has a backtick inside a segment") }
                quoted = true
            case UInt8(ascii: ".") where !quoted:
                try finish()
            default:
                guard !closed else { throw malformed("goes on after a closing backtick") }
                bytes.append(byte)
            }
        }
        guard !quoted else { throw malformed("has a backtick that is not closed") }
        try finish()
        self.segments = segments
    }

    /// The document's own name as a query field: `__name__`.
    public static let documentID = FieldPath(segments: ["__name__"])

    public var isDocumentID: Bool { segments == ["__name__"] }

    /// The dotted form, with backticks where needed.
    public var description: String {
        segments.map { Self.isIdentifier($0) ? $0 : Self.quoted($0) }.joined(separator: ".")
    }

    /// By bytes, as it is parsed: a mark makes one character with a backslash before it, and another accent is equal to
    /// a backtick as text.
    private static func quoted(_ segment: String) -> String {
        let (backtick, backslash) = (UInt8(ascii: "`"), UInt8(ascii: "\\"))
        var bytes = [backtick]
        for byte in segment.utf8 {
            if byte == backtick || byte == backslash { bytes.append(backslash) }
            bytes.append(byte)
        }
        bytes.append(backtick)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The order in which the fields of inequalities order a query that doesn't say otherwise: that of their names,
    /// however these are written.
    package static func precedes(_ a: FieldPath, _ b: FieldPath) -> Bool {
        for (a, b) in zip(a.segments, b.segments) where !TextBytes.equal(a, b) {
            return a.utf8.lexicographicallyPrecedes(b.utf8)
        }
        return a.segments.count < b.segments.count
    }

    public static func == (a: FieldPath, b: FieldPath) -> Bool {
        a.segments.count == b.segments.count && zip(a.segments, b.segments).allSatisfy(TextBytes.equal)
    }

    public func hash(into hasher: inout Hasher) {
        hasher.combine(segments.count)
        for segment in segments { TextBytes.hash(segment, into: &hasher) }
    }

    private static func isIdentifier(_ segment: String) -> Bool {
        guard let first = segment.utf8.first, !(48...57).contains(first) else { return false }
        return segment.utf8.allSatisfy {
            (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == UInt8(ascii: "_")
        }
    }
}
