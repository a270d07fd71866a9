import StorageEngine
import StoreTestSupport
import Testing

/// Entries whose values are damaged, such as a large one in a page of its own.
struct DamagedValueTests {
    private struct Damaged: ForwardingReader {
        let inner: any StorageReader
        let values: Set<UInt8>
        let keys: Set<UInt8>
        /// What a visit from the end meets first.
        let fromEnd: StorageError?

        private let error = StorageError(.damaged, "the page can't be read")

        init(_ inner: any StorageReader, values: Set<UInt8>, keys: Set<UInt8> = [], fromEnd: StorageError? = nil) {
            (self.inner, self.values, self.keys, self.fromEnd) = (inner, values, keys, fromEnd)
        }

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
            if values.contains(key[0]) { throw error }
            return try inner.get(table, key)
        }

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            try inner.scan(table, range, reverse: reverse) { key, value in
                if values.contains(key[0]) || keys.contains(key[0]) { throw error }
                return try body(key, value)
            }
        }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            if reverse, let fromEnd { throw fromEnd }
            try inner.scanKeys(table, range, reverse: reverse) { key in
                if keys.contains(key[0]) { throw error }
                return try body(key)
            }
        }
    }

    private func engine() throws -> MemoryEngine {
        let engine = MemoryEngine()
        try engine.write { for key in 1...5 as ClosedRange<UInt8> { try $0.put(.documents, [key], [key]) } }
        return engine
    }

    @Test(arguments: [[], [1], [5], [2, 3], [1, 3, 5], [1, 2, 3, 4, 5]] as [Set<UInt8>])
    func theOthersAreVisited(damaged: Set<UInt8>) throws {
        try engine().makeReadSession().read { storage in
            var (visited, skipped) = ([UInt8](), [UInt8]())
            let reader = Damaged(storage, values: damaged)
            try reader.scan(.documents, .all, damaged: { key, _ in skipped.append(key[0]) }) { key, value in
                if key == value { visited.append(key[0]) }
                return true
            }
            #expect(skipped == damaged.sorted())
            #expect(visited == Set<UInt8>(1...5).subtracting(damaged).sorted())
        }
    }

    @Test func aDamagedKeyEndsTheVisit() throws {
        try engine().makeReadSession().read { storage in
            var visited: [UInt8] = []
            #expect(throws: StorageError(.damaged, "the page can't be read")) {
                try Damaged(storage, values: [2], keys: [4]).scan(.documents, .all, damaged: { _, _ in }) { key, _ in
                    visited.append(key[0])
                    return true
                }
            }
            #expect(visited == [1, 3])
        }
    }

    /// A damaged page may have its keys in any order.
    private struct Disordered: ForwardingReader {
        let inner: any StorageReader

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            for key in [3, 2] as [UInt8] { guard try body([key], [key]) else { return } }
            throw StorageError(.damaged, "the page can't be read")
        }
    }

    @Test func keysWithoutOrderEndTheVisit() throws {
        try engine().makeReadSession().read { storage in
            var visits = 0
            var behind: [[UInt8]?] = []
            try Disordered(inner: storage).scanReadable(
                .documents, .all, damaged: { _, _ in }, gap: { _, next, _ in behind.append(next) }
            ) { _, _ in
                visits += 1
                return visits < 100
            }
            #expect(visits < 100)
            #expect(behind == [[4], nil])
        }
    }

    /// Otherwise what can be read later would be left out as damaged.
    @Test func aDiskThatCannotBeReadForTheMomentEndsTheVisit() throws {
        try engine().makeReadSession().read { storage in
            let error = StorageError(.unavailable, "the disk can't be read")
            let reader = Damaged(storage, values: [], keys: [3], fromEnd: error)
            #expect(throws: error) {
                try reader.scanReadable(
                    .documents, .all, damaged: { _, _ in }, gap: { _, _, _ in Issue.record("there is no gap") }
                ) { _, _ in true }
            }
        }
    }

    @Test(arguments: [[3], [1], [5], [2, 4], [1, 2, 3, 4, 5]] as [Set<UInt8>])
    func whatFollowsDamagedKeysIsVisited(keys: Set<UInt8>) throws {
        try engine().makeReadSession().read { storage in
            var visited: [UInt8] = []
            var gaps: [[UInt8?]] = []
            let reader = Damaged(storage, values: [], keys: keys)
            try reader.scanReadable(
                .documents, .all, damaged: { _, _ in },
                gap: { last, next, _ in gaps.append([last?.first, next?.first]) }
            ) { key, _ in
                visited.append(key[0])
                return true
            }
            let (first, end) = (try #require(keys.min()), try #require(keys.max()))
            let all: ClosedRange<UInt8> = 1...5
            #expect(visited == all.filter { $0 < first || $0 > end })
            let gap: [UInt8?] = [first == 1 ? nil : first - 1, end == 5 ? nil : end + 1]
            #expect(gaps == [gap])
        }
    }
}
