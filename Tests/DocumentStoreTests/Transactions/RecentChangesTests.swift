import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct RecentChangesTests {
    /// All changes, without anything to find them by.
    private struct Model {
        var kept: [RecentChanges.Entry] = []
        var floor: Int64 = 0

        func newer(_ version: Int64, where isConcerned: (DocumentPath) -> Bool) -> [RecentChanges.Entry] {
            kept.filter { $0.version > version && isConcerned($0.change.path) }
        }
    }

    private static let collections = ["a", "b", "a/x/b", "b/y/b"]

    private static func entry(_ version: Int64, using random: inout SeededGenerator) throws -> RecentChanges.Entry {
        let path = try DocumentPath("\(random.pick(collections))/\(Int.random(in: 0..<4, using: &random))")
        let time = Timestamp(microseconds: version)
        let document = Document(path: path, fields: ["n": .integer(version)], createTime: time, updateTime: time)
        let change = DocumentChange(path: path, before: nil, after: random.once(in: 4) ? nil : document)
        return RecentChanges.Entry(change, version: version, storedBytes: 0, weight: 0)
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func changesAreFoundAsInAPlainList(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        let maxCount = 12
        var (changes, model) = (RecentChanges(floor: 0, maxCount: maxCount, maxBytes: 1 << 20), Model())
        var version: Int64 = 0
        for _ in 0..<300 {
            switch Int.random(in: 0..<8, using: &random) {
            case 0:
                let oldest = max(version - 4, changes.floor)
                let kept = Int64.random(in: oldest...max(version, oldest), using: &random)
                changes.rollBack(to: kept)
                model.kept.removeAll { $0.version > kept }
                model.floor = min(model.floor, kept)
                version = kept
            case 1:
                let last = Int64.random(in: 0...version, using: &random)
                changes.forget(upTo: last, beyond: 5 * 256)
                while model.kept.count > 5, model.kept[0].version <= last {
                    model.floor = model.kept.removeFirst().version
                }
            default:
                version += 1
                let added = try (0..<Int.random(in: 1...3, using: &random)).map { _ in
                    try Self.entry(version, using: &random)
                }
                changes.append(added)
                model.kept += added
                while model.kept.count > maxCount { model.floor = model.kept.removeFirst().version }
            }
            try compare(changes, model, at: Int64.random(in: 0...version, using: &random))
        }
    }

    private func compare(_ changes: RecentChanges, _ model: Model, at version: Int64) throws {
        #expect(changes.floor == model.floor)
        #expect(changes.newest == model.kept.last?.version)
        // Nothing that was forgotten or rolled back is looked up any more.
        let known = model.kept.map(\.change.path)
        #expect(Set(changes.documents.keys) == Set(known))
        #expect(Set(changes.collections.keys) == Set(known.map(\.parent)))
        #expect(Set(changes.groups.keys) == Set(known.map(\.parent.id)))
        for path in Set(known) {
            let last = try #require(model.kept.last { $0.change.path == path })
            #expect(changes.newest(of: path) == last.version)
            #expect(changes.state(of: path, upTo: last.version) == .some(last.change.after))
            #expect(changes.state(of: path, upTo: last.version - 1) == nil)
            guard version >= model.floor else { continue }
            let isNewer = changes.changed(among: [path], after: version) != nil
            #expect(isNewer == (last.version > version))
        }
        let queries = [
            Query(collectionID: "a"), Query(collectionID: "b"), Query(collectionID: "b", allDescendants: true),
        ]
        for query in queries {
            let newer = model.newer(version) { path in
                path.parent.id == query.collectionID && (query.allDescendants || path.parent.parent == nil)
            }
            let normalized = try NormalizedQuery(query)
            var steps = 1000
            #expect(
                changes.hasChanged(normalized, after: version, within: &steps)
                    == newer.contains { $0.change.after != nil })
            let first = version < model.floor ? version + 1 : newer.first?.version
            let last = version < model.floor ? max(newer.last?.version ?? 0, model.floor) : newer.last?.version
            #expect(changes.span(of: normalized, after: version) == first.flatMap { first in last.map { first...$0 } })
        }
    }

    /// The writer waits while the first change is looked for.
    @Test func ofManyChangesTheSpanIsWider() throws {
        var changes = RecentChanges(floor: 0, maxCount: 1000, maxBytes: 1 << 20)
        let query = try NormalizedQuery(Query(collectionID: "a"))
        func append(_ path: String, _ version: Int64) throws {
            let change = DocumentChange(path: try DocumentPath(path), before: nil, after: nil)
            changes.append([RecentChanges.Entry(change, version: version, storedBytes: 0, weight: 0)])
        }
        for version in 1...10 as ClosedRange<Int64> { try append("b/\(version)", version) }
        for version in 11...209 as ClosedRange<Int64> { try append("a/\(version)", version) }
        #expect(changes.span(of: query, after: 5) == 11...209)
        try append("a/210", 210)
        #expect(changes.span(of: query, after: 5) == 6...210)
    }
}
