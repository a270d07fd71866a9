import DocumentModel
import RealtimeModel
import TestSupport
import Testing

@testable import RealtimeStore

struct TreeKeyTests {
    private static func randomKey(_ generator: inout SeededGenerator) -> RealtimeKey {
        let pieces = [
            "a", "b", "-", "0", "1", "9", "2147483647", "2147483648", "é", "\u{D7FF}", "\u{E000}", "\u{FFFF}", "😀",
            "\u{10FFFF}", " ",
        ]
        while true {
            let text = (0..<Int.random(in: 1...4, using: &generator)).map { _ in generator.pick(pieces) }.joined()
            if let key = try? RealtimeKey(text) { return key }
        }
    }

    @Test func pathsSortAsTheirBytesAndAreReadBack() throws {
        var generator = SeededGenerator(seed: 11)
        let paths = (0..<2_000).map { _ in
            RealtimePath(
                unchecked: (0..<Int.random(in: 0...3, using: &generator)).map { _ in Self.randomKey(&generator) })
        }
        let sorted = paths.sorted()
        let byBytes = paths.sorted { TreeKey.of($0).lexicographicallyPrecedes(TreeKey.of($1)) }
        #expect(sorted == byBytes)
        var reader = TreePathReader()
        for path in byBytes {
            guard case .node(let read) = try reader.read(TreeKey.of(path)[...]) else {
                Issue.record("\(path) is not a node")
                continue
            }
            #expect(read == path)
        }
        for path in paths {
            let range = TreeKey.subtree(TreeKey.of(path))
            for other in paths.prefix(200) { #expect(range.contains(TreeKey.of(other)) == path.contains(other)) }
        }
    }

    @Test func integersSortByNumberThenLength() {
        let keys = [
            "-2147483648", "-10", "-1", "-0", "00", "0", "000", "1", "01", "001", "2", "10", "2147483647", "2147483648",
            "a",
        ]
        let expected = keys.map { RealtimeKey(unchecked: $0) }.sorted()
        let sorted = expected.shuffled().sorted {
            TreeKey.of(RealtimePath(unchecked: [$0])).lexicographicallyPrecedes(
                TreeKey.of(RealtimePath(unchecked: [$1])))
        }
        #expect(sorted == expected)
    }

    @Test func indexValuesSortAsTheirBytesAndAreReadBack() throws {
        var random = RandomTree(generator: SeededGenerator(seed: 12))
        var values: [RealtimeIndexValue] = [.null, .object]
        for _ in 0..<300 { values.append(.leaf(random.leaf())) }
        for exponent in 50...63 {
            for offset in -2...2 as ClosedRange<Int64> {
                let power = exponent == 63 ? Int64.max : Int64(1) << exponent
                values.append(.leaf(.number(RealtimeNumber(power &+ offset))))
                values.append(.leaf(.number(RealtimeNumber(Double(power) + Double(offset) / 2))))
            }
        }
        for a in values {
            let first = bytes(a)
            var rest = first[...]
            if let read = try IndexValueKey.read(from: &rest) { #expect(read == a) }
            #expect(rest.isEmpty)
            for b in values {
                let second = bytes(b)
                if first == second { continue }
                #expect(first.lexicographicallyPrecedes(second) == (a < b), "\(a) \(b)")
            }
        }
    }

    private func bytes(_ value: RealtimeIndexValue) -> [UInt8] {
        var bytes: [UInt8] = []
        IndexValueKey.append(value, to: &bytes)
        return bytes
    }

    @Test func nodesAreReadBackAndDamageIsTold() throws {
        var random = RandomTree(generator: SeededGenerator(seed: 13))
        let path = TreeKey.of(try RealtimePath("a/b"))
        for _ in 0..<300 {
            let node = StoredNode(leaf: random.leaf(), priority: random.priority())
            var bytes = node.encoded(at: path)
            #expect(try StoredNode(bytes, at: path) == node)
            bytes[Int.random(in: 0..<bytes.count, using: &random.generator)] ^=
                1 << UInt8.random(in: 0..<8, using: &random.generator)
            #expect(throws: DecodingFailure.self) { try StoredNode(bytes, at: path) }
            #expect(throws: DecodingFailure.self) { try StoredNode(node.encoded(at: path), at: path + [2]) }
        }
    }
}
