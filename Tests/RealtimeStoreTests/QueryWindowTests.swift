import RealtimeModel
import TestSupport
import Testing

@testable import RealtimeStore

/// Windows beside all children in memory.
struct QueryWindowTests {
    @Test(.endsHangs) func aWindowHasWhatItsQueryMatches() async {
        await FuzzRounds.run("query windows", count: 200) { _, seed in
            var generator = SeededGenerator(seed: seed)
            var query = RealtimeQuery(index: .value)
            func value() -> RealtimeNumber { RealtimeNumber(Int64.random(in: 0...50, using: &generator)) }
            if generator.once(in: 2) { query.start = .init(value: .number(value()), key: .minimum, isInclusive: true) }
            if generator.once(in: 4) { query.end = .init(value: .number(value()), key: .maximum, isInclusive: true) }
            let count = Int.random(in: 1...120, using: &generator)
            query.limit = generator.pick([nil, .first(count), .last(count)])
            var children: [RealtimeKey: RealtimeIndexValue] = [:]
            func matches() -> [RealtimeIndexEntry] {
                let all = children.map { RealtimeIndexEntry(value: $0.value, key: $0.key) }
                    .filter { query.includes($0) }.sorted()
                switch query.limit {
                case .first(let count)?: return Array(all.prefix(count))
                case .last(let count)?: return all.suffix(count)
                case nil: return all
                }
            }
            var window = QueryWindow(matches(), query)
            for step in 0..<20 {
                let before = Set(window.keys)
                var changed: Set<RealtimeKey> = []
                var entries: [RealtimeIndexEntry] = []
                for _ in 0..<Int.random(in: 1...80, using: &generator) {
                    let key = RealtimeKey(index: Int.random(in: 0..<150, using: &generator))
                    changed.insert(key)
                    children[key] = generator.once(in: 3) ? nil : .leaf(.number(value()))
                }
                for key in changed {
                    if let value = children[key] { entries.append(RealtimeIndexEntry(value: value, key: key)) }
                }
                let difference = window.update(changed: changed, to: entries) { matches() }
                let after = Set(matches().map(\.key))
                var expected = QueryWindow.Difference()
                expected.left = before.subtracting(after)
                expected.entered = after.subtracting(before)
                expected.kept = changed.intersection(before).intersection(after)
                #expect(Set(window.keys) == after, "seed \(seed), step \(step)")
                #expect(difference == expected, "seed \(seed), step \(step)")
                #expect(window.size == after.count, "seed \(seed), step \(step)")
            }
        }
    }
}
