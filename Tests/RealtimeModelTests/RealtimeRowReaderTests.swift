import Testing

@testable import RealtimeModel

/// Large values that are read as rows: the keys of an object, of which only a few are kept.
@Suite struct RealtimeRowReaderTests {
    /// Keeps the rows, and the progress.
    private struct Rows: RealtimeTextReceiver {
        var paths: [String] = []
        var positions: [Int] = []

        mutating func leaf(_ leaf: RealtimeLeaf, priority: RealtimePriority?, at keys: [RealtimeKey]) {
            paths.append(keys.map(\.string).joined(separator: "/"))
        }

        mutating func priority(_ priority: RealtimePriority, at keys: [RealtimeKey]) {}

        mutating func advanced(to position: Int) { positions.append(position) }
    }

    private func read(_ text: String) throws -> Rows {
        var rows = Rows()
        try Array(text.utf8).withUnsafeBytes { try RealtimeRowReader.read($0, at: .root, to: &rows) }
        return rows
    }

    private func object(_ keys: [String]) -> String {
        "{\(keys.map { "\"\($0)\":1" }.joined(separator: ","))}"
    }

    private func expectRepeated(_ key: String, at place: String = "/", _ text: String) {
        let error = #expect(throws: RealtimeError.self) { try read(text) }
        #expect(error?.problem == .repeatedKey(key))
        #expect(error?.path.description == place)
    }

    // MARK: Memory

    @Test func aLargeObjectTakesNoMemoryForEachKey() {
        var known = KnownKeys()
        for index in 0..<10_000 { known.append(RealtimeKey(index: index)) }
        #expect(known.count == 10_000)
        #expect(known.hashes.count == KnownKeys.maxHashes)
        let mayRepeat1 = known.mayHaveRepeated()
        #expect(!mayRepeat1)
        known.append(RealtimeKey(index: 10_001))
        let mayRepeat2 = known.mayHaveRepeated()
        #expect(!mayRepeat2)
        // Without the hashes of all, the object is read again.
        known.append(RealtimeKey(index: 10_000))
        let mayRepeat3 = known.mayHaveRepeated()
        #expect(mayRepeat3)
        #expect(known.hashes.count == KnownKeys.maxHashes)
    }

    @Test func aSmallObjectThatIsNotSortedNeedNotBeReadAgain() {
        var known = KnownKeys()
        for index in (0..<KnownKeys.maxHashes).reversed() { known.append(RealtimeKey(index: index)) }
        let mayRepeat4 = known.mayHaveRepeated()
        #expect(!mayRepeat4)
    }

    // MARK: Repeated keys

    /// Of an object that keeps the hashes of all keys, and of one that doesn't.
    @Test(arguments: [3, KnownKeys.maxHashes - 1, KnownKeys.maxHashes, 3 * KnownKeys.maxHashes])
    func aRepeatedKeyIsFoundWhereverItIs(count: Int) throws {
        let sorted = (0..<count).map { "\($0)" }
        #expect(try read(object(sorted)).paths == sorted)
        for keys in [sorted, sorted.reversed()] {
            #expect(try read(object(keys)).paths == keys)
            for (first, second) in [(0, 1), (0, count), (count / 2, count), (count - 1, count)] {
                var repeated = keys
                repeated.insert(keys[first], at: second)
                expectRepeated(keys[first], object(repeated))
                expectRepeated(keys[first], at: "/a/b", #"{"a":{"b":\#(object(repeated))}}"#)
            }
        }
    }

    @Test(arguments: [0, KnownKeys.maxHashes]) func keysAreComparedByTheirBytes(others: Int) throws {
        let more = object((0..<others + 1).map { "k\($0)" }).dropFirst().dropLast()
        expectRepeated("a", #"{"a":1,\#(more),"\u0061":{}}"#)
        expectRepeated("a", #"{"a":null,\#(more),"a":null}"#)
        expectRepeated("a", #"{".priority":1,"a":[{"x":1}],\#(more),"a":{"y":[2]}}"#)
        // Equal text, but not equal keys, before one that is repeated.
        expectRepeated("a", "{\"e\u{301}\":1,\"\u{E9}\":1,\"a\":1,\(more),\"a\":1}")
        #expect(try read("{\"z\":1,\"e\u{301}\":1,\"\u{E9}\":1,\(more)}").paths.count == others + 4)
        // The same keys in different objects.
        #expect(try read(#"{"b":{"x":1},"a":{"x":1},\#(more)}"#).paths.count == others + 3)
    }

    /// So many that some have the same short hash.
    @Test func differentKeysWithTheSameHashAreNotRepeated() throws {
        let keys = (0..<200_000).reversed().map { "\($0)" }
        let text = object(keys)
        let rows = try read(text)
        #expect(rows.paths == keys)
        // Reading them again tells of the progress too, and the position doesn't go back.
        #expect(rows.positions == rows.positions.sorted())
        #expect(rows.positions.filter { $0 == text.utf8.count }.count >= 200_000 / 4_096)
        expectRepeated("7", object(keys + ["7"]))
    }

    /// More than are compared at a time.
    @Test func oneOfVeryManyRepeatedKeysIsFound() throws {
        let keys = (0..<70_000).reversed().map { "\($0)" }
        let error = #expect(throws: RealtimeError.self) { try read(object(keys + keys)) }
        guard case .repeatedKey(let key)? = error?.problem else {
            Issue.record("\(String(describing: error))")
            return
        }
        #expect(keys.contains(key))
    }
}
