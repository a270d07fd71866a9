import StorageEngine
import TestSupport
import Testing

@testable import RealtimeStore

/// What recent commits have changed, against the reads of checks.
struct RecentRowsTests {
    private static func changes(_ paths: [[UInt8]], isStructural: Bool = true) -> RowChanges {
        let changes = RowChanges()
        for path in paths { changes.put(path, [1], isStructural: isStructural) }
        return changes
    }

    @Test func oldestCommitsAreForgottenByTheirBytes() {
        var recent = RecentRows(floor: 0, maxBytes: 100_000)
        let notes = ReadNotes()
        notes.add([9])
        let paths = (0..<30 as Range<UInt8>).map { [UInt8](repeating: $0, count: 1_000) }
        for version in 1...2 as ClosedRange<Int64> {
            recent.append(Self.changes(paths), in: "a", version: version)
            #expect(!recent.mayHaveChanged(notes, in: "a", after: 0))
        }
        for version in 3...20 as ClosedRange<Int64> { recent.append(Self.changes(paths), in: "a", version: version) }
        #expect(recent.mayHaveChanged(notes, in: "a", after: 16))
        #expect(!recent.mayHaveChanged(notes, in: "a", after: 18))
        recent.rollBack(to: 18)
        recent.append(Self.changes(paths), in: "a", version: 21)
        #expect(!recent.mayHaveChanged(notes, in: "a", after: 18))
    }

    /// Sorting them would cost more than checking again.
    @Test func readsOfManyRangesAreDecidedAgain() {
        var recent = RecentRows(floor: 0)
        func notes(_ count: Int) -> ReadNotes {
            let notes = ReadNotes()
            for number in 0..<count {
                notes.add(KeyRange(prefix: [2, UInt8(number >> 8), UInt8(number & 255)]), pathsOnly: true)
            }
            return notes
        }
        recent.append(Self.changes([[1]]), in: "a", version: 1)
        #expect(!recent.mayHaveChanged(notes(100), in: "a", after: 0))
        #expect(recent.mayHaveChanged(notes(5_000), in: "a", after: 0))
        #expect(!recent.mayHaveChanged(notes(5_000), in: "b", after: 0))
    }

    /// A commit of a whole subtree is compared with each path.
    @Test func readsOfManyPathsAreDecidedAgainIfRangesHaveChanged() {
        var recent = RecentRows(floor: 0)
        let notes = ReadNotes()
        for number in 0..<1_000 { notes.add([2, UInt8(number >> 8), UInt8(number & 255)]) }
        for version in 1...10 as ClosedRange<Int64> {
            let changes = RowChanges()
            changes.hide(KeyRange(prefix: [1]))
            recent.append(changes, in: "a", version: version)
        }
        #expect(!recent.mayHaveChanged(notes, in: "a", after: 7))
        #expect(recent.mayHaveChanged(notes, in: "a", after: 0))
    }

    @Test(.endsHangs) func changesConcernWhatWasRead() async {
        await FuzzRounds.run("recent rows", count: 2_000) { _, seed in
            var generator = SeededGenerator(seed: seed)
            func key() -> [UInt8] {
                (0..<Int.random(in: 0...3, using: &generator)).map { _ in UInt8.random(in: 0...3, using: &generator) }
            }
            func range() -> KeyRange {
                KeyRange(lower: key(), upper: generator.once(in: 6) ? nil : key())
            }
            let notes = ReadNotes()
            for _ in 0..<Int.random(in: 0...3, using: &generator) { notes.add(key()) }
            for _ in 0..<Int.random(in: 0...5, using: &generator) {
                notes.add(range(), pathsOnly: generator.once(in: 2))
            }
            let changes = RowChanges()
            if generator.once(in: 4) { changes.hide(range()) }
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                changes.put(key(), [1], isStructural: generator.once(in: 2))
            }
            var recent = RecentRows(floor: 0)
            recent.append(changes, in: "a", version: 1)
            let rowsConcern = changes.all.contains { row in
                notes.paths.contains(row.path)
                    || notes.ranges.contains { (row.isStructural || !$0.pathsOnly) && $0.range.contains(row.path) }
            }
            let rangesConcern = changes.hidden.contains { range in
                notes.paths.contains { range.contains($0) }
                    || notes.ranges.contains { $0.range.intersection(range) != nil }
            }
            let mayHaveChanged = recent.mayHaveChanged(notes, in: "a", after: 0)
            #expect(mayHaveChanged == (rowsConcern || rangesConcern), "seed \(seed)")
        }
    }
}
