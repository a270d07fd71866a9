import DocumentModel
import Testing

@Suite struct FieldMaskTests {
    private let fields: [String: Value] = [
        "a": .map(["x": .integer(1), "y": .map(["z": .integer(2), "w": .null])]), "b": .integer(3), "c.d": .integer(4),
        "e": .map([:]), "f": .array([.integer(5)]),
    ]

    private func masked(_ paths: String...) throws -> [String: Value] {
        FieldMask(try paths.map { try FieldPath($0) }).applied(to: fields)
    }

    @Test func onlyNamedFieldsAreLeft() throws {
        #expect(try masked() == [:])
        #expect(try masked("b", "missing") == ["b": .integer(3)])
        #expect(try masked("a.x") == ["a": .map(["x": .integer(1)])])
        #expect(try masked("a.y.z", "a.x") == ["a": .map(["x": .integer(1), "y": .map(["z": .integer(2)])])])
        #expect(try masked("`c.d`", "c.d") == ["c.d": .integer(4)])
        #expect(try masked("e") == ["e": .map([:])])
    }

    @Test func aFieldOfWhatIsNoMapIsMissing() throws {
        #expect(try masked("b.x", "f.x", "e.x", "a.missing", "a.y.z.w") == [:])
    }

    /// However the paths are ordered, and however often they are there.
    @Test func aFieldCoversThoseInIt() throws {
        let whole = ["a": fields["a"]]
        #expect(try masked("a", "a.x", "a.y.z") == whole)
        #expect(try masked("a.x", "a.y.z", "a", "a") == whole)
    }

    @Test func aPathThatIsDeeperThanAnyDocumentNamesNothing() {
        let deep = FieldPath(segments: Array(repeating: "a", count: 1_000_000))
        #expect(FieldMask([deep]).applied(to: fields) == [:])
    }
}
