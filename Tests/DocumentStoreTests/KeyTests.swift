import TestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct KeyTests {
    private func order(_ a: [UInt8], _ b: [UInt8]) -> ValueOrder {
        a == b ? .same : a.lexicographicallyPrecedes(b) ? .ascending : .descending
    }

    @Test func keysSortAsValuesDo() {
        var generator = SeededGenerator(seed: 11)
        let values = (0..<700).map { _ in Value.random(using: &generator) }
        let keys = values.map(ValueKey.encode)
        for (i, a) in values.enumerated() {
            for (j, b) in values.enumerated() where order(keys[i], keys[j]) != Value.compare(a, b) {
                Issue.record("\(a) and \(b)")
            }
        }
    }

    @Test func noKeyIsThePrefixOfAnother() {
        var generator = SeededGenerator(seed: 12)
        let keys = Array(Set((0..<300).map { _ in ValueKey.encode(.random(using: &generator)) }))
        for a in keys {
            for b in keys where a != b && b.starts(with: a) { Issue.record("\(a) begins \(b)") }
        }
    }

    @Test func anIndexedKeyIsCutFromTheWholeOne() {
        for length in [1490, 1497, 1498, 1499, 1500, 1501, 5000] {
            let value = Value.array([.string(String(repeating: "x", count: length)), .integer(1)])
            let (key, truncated) = ValueKey.indexed(value)
            #expect(key.count <= 1500)
            #expect(ValueKey.encode(value).starts(with: key))
            #expect(truncated == (ValueKey.encode(value).count > 1500))
        }
    }

    @Test func theKeyOfALargeMapIsCutFromTheWholeOne() {
        var generator = SeededGenerator(seed: 14)
        func name() -> String {
            (0..<Int.random(in: 1...4, using: &generator))
                .map { _ in generator.pick(["a", "b", "\u{0}", "\u{1}", "é", "xyz"]) }.joined()
        }
        for _ in 0..<20 {
            let names = Set((0..<Int.random(in: 400...3000, using: &generator)).map { _ in name() })
            let members = names.map { ($0, Value.random(using: &generator, depth: 2)) }
            let map = Value.map(Dictionary(members, uniquingKeysWith: { $1 }))
            for value in [map, .map(["a": map, "b": map]), .array([.null, map, map])] {
                let whole = ValueKey.encode(value)
                let (key, truncated) = ValueKey.indexed(value)
                #expect(key == Array(whole.prefix(1500)))
                #expect(truncated == (whole.count > 1500))
            }
        }
    }

    /// The others' order doesn't matter, although it is a map's part of each key of the maps around it.
    @Test func theFirstNamesAreFoundWithoutSortingAll() {
        let numbers = 100_000..<200_000
        let fields = Dictionary(uniqueKeysWithValues: numbers.map { ("\($0)", Value.null) })
        var comparisons = 0
        let first = fields.first(501) { a, b in
            comparisons += 1
            return a < b
        }
        #expect(first.map(\.key) == numbers.prefix(501).map { "\($0)" })
        #expect(comparisons < 5 * fields.count)
    }

    @Test func documentKeysSortAsNamesAndReadBack() throws {
        let ids = ["a", "a!", "a\u{0}", "a\u{1}", "ab", "é", "z"]
        for a in ids {
            for b in ids {
                let (pathA, pathB) = (try DocumentPath("c/" + a), try DocumentPath("c/" + b))
                let (keyA, keyB) = (DocumentKeys.key(of: pathA), DocumentKeys.key(of: pathB))
                #expect(order(keyA, keyB) == DocumentPath.compare(pathA, pathB))
            }
            let key = DocumentKeys.key(of: try DocumentPath("c/" + a))
            let prefix = DocumentKeys.prefix(ofCollection: "c")
            #expect(key.starts(with: prefix))
            #expect(DocumentKeys.text(of: key[prefix.count...]) == a)
        }
    }
}

extension ValueKey {
    /// The whole key, of any length.
    static func encode(_ value: Value) -> [UInt8] {
        var key: [UInt8] = []
        append(value, to: &key, limit: .max)
        return key
    }
}
