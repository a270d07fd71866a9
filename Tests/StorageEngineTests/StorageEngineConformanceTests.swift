import TestSupport

import StoreTestSupport
import StorageEngine
import Foundation
import Synchronization
import Testing

/// What every engine does.
struct StorageEngineConformanceTests {
    private struct Refused: Error {}

    private func keys(
        _ engine: any StorageEngine, _ range: KeyRange, reverse: Bool = false, limit: Int = .max
    ) throws -> [[UInt8]] {
        try engine.makeReadSession().read { reader throws in
            var keys: [[UInt8]] = []
            try reader.scan(.index, range, reverse: reverse) { key, _ in
                keys.append(key)
                return keys.count < limit
            }
            return keys
        }
    }

    private func get(_ engine: any StorageEngine, _ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
        try engine.makeReadSession().read { try $0.get(table, key) }
    }

    @Test(arguments: EngineKind.allCases)
    func whatWasPutIsReadInOrder(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        var generator = SeededGenerator(seed: 5)
        let all = (0..<2000).map { i in [UInt8(i >> 8), UInt8(i & 255)] }
        try engine.write { writer in
            for key in all.shuffled(using: &generator) { try writer.put(.index, key, key) }
            try writer.put(.index, [], [])
        }
        let whole = KeyRange.all
        #expect(try keys(engine, whole) == [[]] + all)
        #expect(try keys(engine, whole, reverse: true) == ([[]] + all).reversed())
        let part = KeyRange(lower: [1], upper: [2, 3])
        let expected = all.filter { !$0.lexicographicallyPrecedes([1]) && $0.lexicographicallyPrecedes([2, 3]) }
        #expect(try keys(engine, part) == expected)
        #expect(try keys(engine, part, reverse: true, limit: 1) == [[2, 2]])
        #expect(try keys(engine, KeyRange(lower: [2], upper: [1])).isEmpty)
        #expect(try keys(engine, KeyRange(prefix: [3])).count == 256)
        try engine.write { writer in for key in all.dropFirst(10) { try writer.delete(.index, key) } }
        #expect(try keys(engine, whole) == [[]] + all.prefix(10))
        try engine.close()
    }

    /// Values of all sizes, which replace each other.
    @Test(arguments: EngineKind.allCases, [StorageTable.tree, .completions, .documents])
    func largeValuesAreKeptAsSmallOnes(kind: EngineKind, table: StorageTable) throws {
        let directory = try TemporaryDirectory()
        var engine = try kind.make(in: directory)
        var generator = SeededGenerator(seed: 17)
        var model: [[UInt8]: [UInt8]] = [:]
        for round in 0..<60 {
            var changed = model
            let isRefused = Int.random(in: 0..<5, using: &generator) == 0
            do {
                try engine.write { writer in
                    for _ in 0..<Int.random(in: 1...8, using: &generator) {
                        // Some keys are long, and none is another's prefix.
                        let number = UInt8.random(in: 0..<12, using: &generator)
                        let key = [number] + [UInt8](repeating: 9, count: number == 3 ? 3_000 : 1)
                        let size =
                            [0, 1, 64, 65, 1_900, 1_990, 2_000, 2_100, 9_000, 300_000].randomElement(using: &generator)
                            ?? 0
                        if Int.random(in: 0..<4, using: &generator) == 0 {
                            try writer.delete(table, key)
                            changed[key] = nil
                        } else {
                            let value = [UInt8](repeating: UInt8(round), count: size)
                            try writer.put(table, key, value)
                            changed[key] = value
                        }
                        #expect(try writer.get(table, key) == changed[key])
                    }
                    if isRefused { throw Refused() }
                }
                model = changed
            } catch is Refused {}
            if round % 20 == 19, kind != .memory {
                try engine.close()
                engine = try kind.make(in: directory)
            }
            let sorted = model.sorted { $0.key.lexicographicallyPrecedes($1.key) }
            try engine.makeReadSession().read { reader throws in
                for reverse in [false, true] {
                    var found: [(key: [UInt8], value: [UInt8])] = []
                    try reader.scan(table, .all, reverse: reverse) { key, value throws in
                        found.append((key, value))
                        // Values are found in a scan within a scan too.
                        let same = try reader.get(table, key)
                        #expect(same == value)
                        return true
                    }
                    let expected = reverse ? sorted.reversed() : sorted
                    #expect(found.map(\.key) == expected.map(\.key))
                    #expect(found.map(\.value) == expected.map(\.value))
                }
                #expect(try reader.count(table, .all) == model.count)
                var keys: [[UInt8]] = []
                try reader.scanKeys(table, .all, reverse: false) {
                    keys.append($0)
                    return true
                }
                #expect(keys == sorted.map(\.key))
            }
        }
        if let embedded = engine as? any EmbeddedEngine {
            var findings: [String] = []
            try embedded.findDamage(until: BlockingWork.Cancellation()) {
                findings.append($0)
                return true
            }
            #expect(findings == [])
        }
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func aBatchThatThrowsLeavesNothing(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try engine.write { try $0.put(.meta, [1], [1]) }
        #expect(throws: Refused.self) {
            try engine.write { writer in
                try writer.put(.meta, [1], [2])
                try writer.put(.documents, [9], [9])
                #expect(try writer.get(.meta, [1]) == [2])
                throw Refused()
            }
        }
        #expect(try get(engine, .meta, [1]) == [1])
        #expect(try get(engine, .documents, [9]) == nil)
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func aReaderSeesOneStateWhileTheWriterGoesOn(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try engine.write { try $0.put(.meta, [1], [1]) }
        try engine.makeReadSession().read { reader throws in
            #expect(try reader.get(.meta, [1]) == [1])
            try engine.write { writer in
                try writer.put(.meta, [1], [2])
                // Not durable yet, so no other reader sees it.
                #expect(try get(engine, .meta, [1]) == [1])
            }
            #expect(try reader.get(.meta, [1]) == [1])
        }
        #expect(try get(engine, .meta, [1]) == [2])
        try engine.close()
    }

    /// A batch over stored rows is seen as it will be stored.
    @Test(arguments: EngineKind.allCases)
    func aBatchIsReadOverWhatIsStored(kind: EngineKind) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let model = MemoryEngine()
        for round in 0..<60 {
            try engine.write { writer throws in
                try model.write { expected throws in
                    for _ in 0..<Int.random(in: 0...30, using: &random) {
                        let key = (0..<Int.random(in: 0...2, using: &random)).map { _ in
                            [0, 1, 0x7F, 0xFE, 0xFF].randomElement(using: &random) ?? UInt8(0)
                        }
                        if Bool.random(using: &random) {
                            let value = [UInt8](repeating: UInt8(round), count: Int.random(in: 0...40, using: &random))
                            try writer.put(.index, key, value)
                            try expected.put(.index, key, value)
                        } else {
                            try writer.delete(.index, key)
                            try expected.delete(.index, key)
                        }
                        let lower = [UInt8](repeating: UInt8.random(in: 0...255, using: &random), count: 1)
                        let upper: [UInt8]? =
                            Bool.random(using: &random) ? [UInt8.random(in: 0...255, using: &random)] : nil
                        for range in [KeyRange.all, KeyRange(lower: lower, upper: upper)] {
                            for reverse in [false, true] {
                                #expect(
                                    try rows(writer, range, reverse) == rows(expected, range, reverse),
                                    "the seed is \(seed)")
                            }
                            #expect(try writer.count(.index, range) == expected.count(.index, range))
                            #expect(try writer.key(.index, range, after: 3) == expected.key(.index, range, after: 3))
                        }
                        #expect(try writer.get(.index, key) == expected.get(.index, key))
                    }
                }
            }
        }
        try engine.close()
    }

    /// Rows in their order and in any, before, between and after those that the batch has.
    @Test(arguments: EngineKind.allCases)
    func blocksOfRowsArePut(kind: EngineKind) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        var expected: [[UInt8]: [UInt8]] = [:]
        for round in 0..<3 {
            try engine.write { writer in
                for step in 0..<4 {
                    var numbers = (0..<300).map { _ in UInt16.random(in: 0...2_000, using: &random) }
                    if step != 3 { numbers.sort() }
                    var block = RowBlock()
                    for (index, number) in numbers.enumerated() {
                        let (key, value) = (
                            [UInt8(number >> 8), UInt8(number & 0xFF)], [UInt8(round), UInt8(index & 0xFF)]
                        )
                        block.append([7], key, index % 5 == 0 ? [] : value)
                        expected[[7] + key] = index % 5 == 0 ? [] : value
                    }
                    #expect(block.count == 300)
                    try writer.put(.index, block)
                    #expect(try entries(of: writer) == expected, "the seed is \(seed)")
                }
            }
            #expect(try engine.makeReadSession().read { try entries(of: $0) } == expected, "the seed is \(seed)")
        }
        try engine.close()
    }

    /// In batches that also write there, before and afterwards. Some ranges have more rows than RocksDB removes one by
    /// one, and some values are large.
    @Test(arguments: EngineKind.allCases)
    func rangesAreRemovedAsTheirRowsAre(kind: EngineKind) throws {
        let seed = UInt64.random(in: 0 ... .max)
        var random = SeededGenerator(seed: seed)
        let directory = try TemporaryDirectory()
        var engine = try kind.make(in: directory)
        let model = MemoryEngine()
        func key(_ number: Int) -> [UInt8] { [UInt8(number >> 8), UInt8(number & 0xFF)] }
        let tables = [StorageTable.users, .tree]
        for round in 0..<8 {
            do {
                try engine.write { writer throws in
                    try model.write { expected throws in
                        for table in tables {
                            for _ in 0..<3 {
                                for _ in 0..<Int.random(in: 0...900, using: &random) {
                                    let number = Int.random(in: 0..<2_500, using: &random)
                                    let size = random.once(in: 200) ? 20_000 : 2
                                    let value = [UInt8](repeating: UInt8(round), count: size)
                                    try writer.put(table, key(number), value)
                                    try expected.put(table, key(number), value)
                                }
                                let lower = key(Int.random(in: 0..<2_500, using: &random))
                                var upper: [UInt8]? = key(Int.random(in: 0..<4_000, using: &random))
                                if random.once(in: 8) { upper = nil }
                                let range = KeyRange(lower: lower, upper: upper)
                                let next = try writer.removeRange(table, range, atMost: .max)
                                #expect(next == nil, "the seed is \(seed)")
                                _ = try expected.removeRange(table, range, atMost: .max)
                                let deleted = key(Int.random(in: 0..<2_500, using: &random))
                                try writer.delete(table, deleted)
                                try expected.delete(table, deleted)
                                try compare(writer, expected, table, seed)
                            }
                        }
                        if round % 4 == 3 { throw Refused() }
                    }
                }
            } catch is Refused {}
            if round % 3 == 2, kind != .memory {
                try engine.close()
                engine = try kind.make(in: directory)
            }
            try engine.makeReadSession().read { reader throws in
                try model.makeReadSession().read { expected throws in
                    for table in tables { try compare(reader, expected, table, seed) }
                }
            }
        }
        if let embedded = engine as? any EmbeddedEngine {
            var findings: [String] = []
            try embedded.findDamage(until: BlockingWork.Cancellation()) {
                findings.append($0)
                return true
            }
            #expect(findings == [], "the seed is \(seed)")
        }
        try engine.close()
    }

    /// Compares all rows of a table, both ways, and what is found of a part of them.
    private func compare(
        _ found: any StorageReader, _ expected: any StorageReader, _ table: StorageTable, _ seed: UInt64
    ) throws {
        for reverse in [false, true] {
            let (rows, others) = (try all(found, table, reverse: reverse), try all(expected, table, reverse: reverse))
            #expect(rows == others, "the seed is \(seed)")
        }
        for range in [KeyRange.all, KeyRange(lower: [2, 7], upper: [9])] {
            #expect(try found.count(table, range) == expected.count(table, range), "the seed is \(seed)")
            let (one, other) = (try found.key(table, range, after: 40), try expected.key(table, range, after: 40))
            #expect(one == other, "the seed is \(seed)")
        }
        for number: UInt8 in 0..<40 {
            let key = [number / 4, number &* 67]
            #expect(try found.get(table, key) == expected.get(table, key), "the seed is \(seed)")
        }
    }

    /// Keys, and the first bytes and sizes of values.
    private func all(_ reader: any StorageReader, _ table: StorageTable, reverse: Bool) throws -> [[Int]] {
        var (rows, keys): ([[Int]], [[Int]]) = ([], [])
        try reader.scan(table, .all, reverse: reverse) { key, value in
            rows.append(key.map { Int($0) } + [value.first.map { Int($0) } ?? -1, value.count])
            return true
        }
        try reader.scanKeys(table, .all, reverse: reverse) { key in
            keys.append(key.map { Int($0) })
            return true
        }
        return rows + keys
    }

    @Test(arguments: EngineKind.allCases, [100, 2_500])
    func aRangeIsRemovedFromItsFirstRowOn(kind: EngineKind, rows: Int) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let keys = (0..<rows).map { [1, UInt8($0 >> 8), UInt8($0 & 0xFF)] }
        try engine.write { writer in
            for key in keys + [[0, 9], [2]] { try writer.put(.tree, key, [1]) }
            try writer.put(.users, [1, 1], [1])
        }
        let range = KeyRange(prefix: [1])
        let limit = rows == 100 ? 40 : 600
        var removed = 0
        try engine.makeReadSession().read { earlier throws in
            // SQLite chooses the state of a read with its first row.
            #expect(try earlier.count(.tree, range) == rows)
            while removed < rows {
                let rest = KeyRange(lower: keys[removed], upper: range.upper)
                let next = try engine.write { try $0.removeRange(.tree, rest, atMost: limit) }
                removed = min(removed + limit, rows)
                let left = try engine.makeReadSession().read { try $0.count(.tree, range) }
                let first = try engine.makeReadSession().read { try $0.key(.tree, range, after: 0) }
                #expect(left == rows - removed)
                #expect(first == keys.dropFirst(removed).first)
                #expect(next == first)
            }
            // An earlier state still has them.
            #expect(try earlier.count(.tree, range) == rows)
        }
        try engine.makeReadSession().read { reader throws in
            #expect(try reader.count(.tree, .all) == 2)
            #expect(try reader.count(.users, .all) == 1)
        }
        #expect(try engine.write { try $0.removeRange(.tree, range, atMost: 0) } == nil)
        try engine.close()
    }

    private func entries(of reader: any StorageReader) throws -> [[UInt8]: [UInt8]] {
        var (entries, last): ([[UInt8]: [UInt8]], [UInt8]) = ([:], [])
        try reader.scan(.index, .all, reverse: false) { key, value in
            #expect(last.lexicographicallyPrecedes(key))
            last = key
            entries[key] = value
            return true
        }
        return entries
    }

    private func rows(_ reader: any StorageReader, _ range: KeyRange, _ reverse: Bool) throws -> [[UInt8]] {
        var (rows, keys): ([[UInt8]], [[UInt8]]) = ([], [])
        try reader.scan(.index, range, reverse: reverse) { key, value in
            rows += [key, value]
            return true
        }
        try reader.scanKeys(.index, range, reverse: reverse) { key in
            keys.append(key)
            return keys.count < 5
        }
        return rows + keys
    }

    @Test(arguments: EngineKind.allCases)
    func scansCanReadAndScanInside(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try engine.write { for i in 0..<5 { try $0.put(.index, [UInt8(i)], [UInt8(i)]) } }
        var pairs = 0
        try engine.makeReadSession().read { reader throws in
            try reader.scan(.index, .all, reverse: false) { key, _ in
                #expect(try reader.get(.index, key) == key)
                try reader.scan(.index, .all, reverse: false) { _, _ in
                    pairs += 1
                    return true
                }
                return true
            }
        }
        #expect(pairs == 25)
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func keysAndCountsAreThoseOfTheScan(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let all = (0..<1000).map { i in [UInt8(i >> 8), UInt8(i & 255)] }
        try engine.write { for key in all { try $0.put(.changes, key, [UInt8](repeating: 1, count: 300)) } }
        var generator = SeededGenerator(seed: 6)
        try engine.makeReadSession().read { reader throws in
            for _ in 0..<50 {
                let bounds = [UInt8.random(in: 0...4, using: &generator), UInt8.random(in: 0...255, using: &generator)]
                let upper = Bool.random(using: &generator) ? [UInt8.random(in: 0...4, using: &generator), 100] : nil
                let range = KeyRange(lower: bounds, upper: upper)
                for reverse in [false, true] {
                    var (scanned, keys) = ([[UInt8]](), [[UInt8]]())
                    try reader.scan(.changes, range, reverse: reverse) { key, _ in
                        scanned.append(key)
                        return true
                    }
                    try reader.scanKeys(.changes, range, reverse: reverse) { key in
                        keys.append(key)
                        return true
                    }
                    #expect(keys == scanned)
                    #expect(try reader.count(.changes, range) == scanned.count)
                    for count in [0, scanned.count / 2, scanned.count - 1, scanned.count] where count >= 0 && !reverse {
                        let expected = count < scanned.count ? scanned[count] : nil
                        #expect(try reader.key(.changes, range, after: count) == expected)
                    }
                }
            }
            var first: [[UInt8]] = []
            try reader.scanKeys(.changes, .all, reverse: true) { key in
                first.append(key)
                return false
            }
            #expect(first == [all[999]])
            #expect(try reader.count(.documents, .all) == 0)
        }
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func tablesAreApartAndValuesMayBeLarge(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let large = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }
        let longKey = [UInt8](repeating: 0xFF, count: 7000)
        try engine.write { writer in
            for table in StorageTable.allCases {
                try writer.put(table, [1], [UInt8(table.rawValue)])
                try writer.put(table, longKey, large)
                try writer.put(table, [0], [])
            }
        }
        try engine.write { try $0.delete(.index, [1]) }
        let whole = KeyRange.all
        try engine.makeReadSession().read { reader throws in
            for table in StorageTable.allCases {
                #expect(try reader.get(table, [1]) == (table == .index ? nil : [UInt8(table.rawValue)]))
                #expect(try reader.get(table, longKey) == large)
                #expect(try reader.get(table, [0]) == [])
                #expect(try reader.count(table, whole) == (table == .index ? 2 : 3))
            }
        }
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func aBatchSeesItsOwnChangesAndAFailedOneTakesThemAllBack(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let whole = KeyRange.all
        try engine.write { for i in 0..<100 { try $0.put(.index, [UInt8(i)], [0]) } }
        #expect(throws: Refused.self) {
            try engine.write { writer in
                for i in 50..<150 { try writer.put(.index, [UInt8(i)], [1]) }
                for i in 0..<10 { try writer.delete(.index, [UInt8(i)]) }
                #expect(try writer.count(.index, whole) == 140)
                var keys = 0
                try writer.scanKeys(.index, KeyRange(lower: [50], upper: [60]), reverse: true) { _ in
                    keys += 1
                    return true
                }
                #expect(keys == 10)
                throw Refused()
            }
        }
        try engine.makeReadSession().read { reader throws in
            #expect(try reader.count(.index, whole) == 100)
            #expect(try reader.get(.index, [60]) == [0])
        }
        // The engine goes on after a failure, and a body that throws from within a scan is a failure like others.
        #expect(throws: Refused.self) {
            try engine.write { writer in
                try writer.delete(.index, [0])
                try writer.scan(.index, whole, reverse: false) { _, _ in throw Refused() }
            }
        }
        try engine.write { try $0.put(.index, [200], [2]) }
        try engine.makeReadSession().read { reader throws in #expect(try reader.count(.index, whole) == 101) }
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func scansUnderWaySeeOneStateWhileAnotherThreadWrites(kind: EngineKind) throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        try engine.write { for i in 0..<200 { try $0.put(.documents, [UInt8(i)], [0, 0]) } }
        let writing = Latched()
        let thread = Thread {
            for round in 1...50 {
                // Every value is of the same batch in each state.
                try? engine.write { for i in 0..<200 { try $0.put(.documents, [UInt8(i)], [UInt8(round), 0]) } }
            }
            writing.open()
        }
        thread.start()
        let session = try engine.makeReadSession()
        while true {
            let isLast = writing.isOpen
            let rounds = try session.read { reader in
                var rounds: Set<UInt8> = []
                try reader.scan(.documents, .all, reverse: false) { _, value in
                    rounds.insert(value[0])
                    return true
                }
                return rounds
            }
            #expect(rounds.count == 1)
            if isLast {
                #expect(rounds == [50])
                break
            }
        }
        try engine.close()
    }
}

/// Whether something has happened.
private final class Latched: Sendable {
    private let state = Atomic(false)

    var isOpen: Bool { state.load(ordering: .acquiring) }

    func open() { state.store(true, ordering: .releasing) }
}
