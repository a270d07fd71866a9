/// The path pattern of a trigger of the Realtime Database; segments may be wildcards.
///
/// `{x}` and `*` match one key. The function receives what named wildcards match. `/` is the whole database.
package struct ReferencePattern: Hashable, Sendable {
    package typealias Problem = DocumentPattern.Problem

    /// None is `many`.
    package let segments: [DocumentPattern.Segment]

    private static let maxSegments = 32

    /// - Parameter text: A slash at either end doesn't matter, as in Firebase.
    /// - Throws: `Problem` with what is wrong and what to write instead.
    package init(_ text: String) throws(Problem) {
        guard text != "/" else {
            segments = []
            return
        }
        let segments = try DocumentPattern.segments(of: text.withoutOuterSlashes)
        guard !segments.contains(where: \.isMany) else {
            throw Problem(
                description:
                    "the pattern \"\(text)\" has a ** wildcard, which only documents' patterns may have; write one "
                    + "wildcard for each key")
        }
        guard segments.count <= Self.maxSegments else {
            throw Problem(description: "the pattern \"\(text)\" is deeper than the \(Self.maxSegments) keys of a path")
        }
        for case .literal(let key) in segments where !key.utf8.allSatisfy(Self.isAllowed) {
            throw Problem(description: "the pattern \"\(text)\" has a key that can't be: no key has . $ # [ ]")
        }
        self.segments = segments
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte != 0x7F && !".$#[]".utf8.contains(byte)
    }

    /// The parameters of the named wildcards for the keys of a path that matches.
    package func params(_ keys: [String]) -> [String: String] {
        var params: [String: String] = [:]
        for (segment, key) in zip(segments, keys) { if let name = segment.name { params[name] = key } }
        return params
    }

    package func matches(_ keys: [String]) -> Bool {
        keys.count == segments.count
            && zip(segments, keys).allSatisfy { segment, key in
                if case .literal(let text) = segment { TextBytes.equal(text, key) } else { true }
            }
    }
}

/// Which databases a trigger is for: names in which `*` stands for any text.
package struct InstancePattern: Hashable, Sendable {
    package let text: String

    package static let all = InstancePattern(unchecked: "*")

    private init(unchecked text: String) { self.text = text }

    /// - Throws: `Problem` for what isn't a name of databases.
    package init(_ text: String) throws(ReferencePattern.Problem) {
        let isValid = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"),
                UInt8(ascii: "_"), UInt8(ascii: "*"):
                true
            default: false
            }
        }
        guard isValid, !text.isEmpty else {
            throw ReferencePattern.Problem(
                description:
                    "the instance \"\(text)\" isn't a database's name: it has lower-case letters, digits, - and _, and "
                    + "may have * for any text")
        }
        self.text = text
    }

    package func matches(_ name: String) -> Bool {
        let parts = text.utf8.split(separator: UInt8(ascii: "*"), omittingEmptySubsequences: false)
        guard let first = parts.first, let last = parts.last, parts.count > 1 else { return text == name }
        var rest = name.utf8[...]
        guard rest.starts(with: first) else { return false }
        rest = rest.dropFirst(first.count)
        for part in parts.dropFirst().dropLast() {
            while !rest.starts(with: part) {
                guard !rest.isEmpty else { return false }
                rest.removeFirst()
            }
            rest = rest.dropFirst(part.count)
        }
        return rest.count >= last.count && rest.suffix(last.count).elementsEqual(last)
    }
}
