/// The path pattern of a document trigger; segments may be wildcards.
///
/// `{x}` and `*` match one segment, `{x=**}` and `**` any number of segments, including none. The function receives
/// what named wildcards match.
package struct DocumentPattern: Hashable, Sendable {
    package enum Segment: Hashable, Sendable {
        case literal(String)
        case one(name: String?)
        case many(name: String?)
    }

    package struct Problem: Error, Hashable, Sendable, CustomStringConvertible {
        package var description: String
    }

    /// At most one segment is `many`.
    package let segments: [Segment]

    /// - Parameter text: A slash at either end doesn't matter, as in Firebase.
    /// - Throws: `Problem` with what is wrong and what to write instead.
    package init(_ text: String) throws(Problem) {
        let text = text.withoutOuterSlashes
        let segments = try Self.segments(of: text)
        let manyCount = segments.count { $0.isMany }
        guard manyCount <= 1 else {
            throw Problem(description: "the pattern \"\(text)\" has more than one ** wildcard")
        }
        guard manyCount == 1 || segments.count % 2 == 0 else {
            throw Problem(
                description: "the pattern \"\(text)\" names a collection; a document's has an even number of segments")
        }
        self.segments = segments
    }

    /// - Parameter text: without a slash at either end.
    static func segments(of text: String) throws(Problem) -> [Segment] {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        guard !text.isEmpty, !parts.contains(where: \.isEmpty) else {
            throw Problem(description: "the pattern \"\(text)\" has an empty segment; write users/{userID}")
        }
        var segments: [Segment] = []
        for part in parts { segments.append(try Self.segment(part, of: text)) }
        var names: Set<String> = []
        for name in segments.compactMap(\.name) where !names.insert(name).inserted {
            throw Problem(description: "the pattern \"\(text)\" captures {\(name)} twice")
        }
        return segments
    }

    private static func segment(_ text: Substring, of pattern: String) throws(Problem) -> Segment {
        if text == "*" { return .one(name: nil) }
        if text == "**" { return .many(name: nil) }
        guard text.contains("{") || text.contains("}") else { return .literal(String(text)) }
        let inner = text.dropFirst().dropLast()
        let isMany = inner.hasSuffix("=**")
        let name = isMany ? inner.dropLast(3) : inner.hasSuffix("=*") ? inner.dropLast(2) : inner
        guard text.hasPrefix("{"), text.hasSuffix("}"), !name.isEmpty,
            name.utf8.allSatisfy({
                (48...57).contains($0) || (65...90).contains($0) || (97...122).contains($0) || $0 == 95
            })
        else {
            throw Problem(
                description: "the segment \"\(text)\" of \"\(pattern)\" isn't a wildcard; write {name} or {name=**}")
        }
        return isMany ? .many(name: String(name)) : .one(name: String(name))
    }
}

extension DocumentPattern.Segment {
    package var isMany: Bool {
        if case .many = self { true } else { false }
    }

    /// Nil for a wildcard.
    var bytes: [UInt8]? {
        if case .literal(let text) = self { Array(text.utf8) } else { nil }
    }

    /// The parameter name of a named wildcard.
    package var name: String? {
        switch self {
        case .literal: nil
        case .one(let name), .many(let name): name
        }
    }
}
