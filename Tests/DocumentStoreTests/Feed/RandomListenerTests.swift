import TestSupport
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

/// Listeners follow random commits; at every time they name, their result is what a read at that time answers.
struct RandomListenerTests {
    private struct Case: Sendable {
        var kind: EngineKind
        var seed: UInt64
        /// How many bytes may wait for the listeners' thread: none makes it read all from the log.
        var backlog: Int
    }

    private static let cases = [
        Case(kind: .memory, seed: 1, backlog: 1 << 20), Case(kind: .memory, seed: 2, backlog: 0),
        Case(kind: .sqlite, seed: 3, backlog: 1 << 20), Case(kind: .sqlite, seed: 4, backlog: 2000),
    ]

    @Test(arguments: cases)
    private func resultsAreThoseOfTheirTimes(run: Case) async throws {
        var configuration = TestStore.configuration
        configuration.maxListenerBacklog = run.backlog
        try await withStore(run.kind, configuration: configuration) { test in
            var generator = SeededGenerator(seed: run.seed)
            let targets = try Self.targets()
            var followers: [Int: Follower] = [:]
            var dropped: [Int: (time: Timestamp, documents: [DocumentPath: Document])] = [:]
            for _ in 0..<150 {
                let which = Int.random(in: 0..<targets.count, using: &generator)
                switch Int.random(in: 0..<12, using: &generator) {
                case 0..<2 where followers[which] == nil:
                    let earlier = dropped.removeValue(forKey: which)
                    followers[which] = Follower(
                        try test.store.listen(to: targets[which], from: earlier?.time),
                        documents: earlier?.documents ?? [:])
                case 2:
                    guard let follower = followers.removeValue(forKey: which), let time = follower.time else {
                        continue
                    }
                    dropped[which] = (follower.listener.currentTime ?? time, follower.documents)
                default:
                    let time = try await Self.commit(test, &generator)
                    guard Int.random(in: 0..<3, using: &generator) == 0, followers[which] != nil else { continue }
                    try await followers[which]?.catchUp(to: time, of: test.store)
                    try await Self.compare(try #require(followers[which]), targets[which], test)
                }
            }
            let time = try await Self.commit(test, &generator)
            for which in followers.keys {
                try await followers[which]?.catchUp(to: time, of: test.store)
                try await Self.compare(try #require(followers[which]), targets[which], test)
            }
        }
    }

    private static func compare(_ follower: Follower, _ target: ListenTarget, _ test: TestStore) async throws {
        #expect(follower.startedOver == nil)
        let time = try #require(follower.time)
        let documents: [Document]
        switch target {
        case .documents(let paths):
            guard let found = try? await test.store.get(Array(paths), .at(time)).documents else {
                throw DocumentError(.unknown, "no documents")
            }
            documents = found.compactMap { $0 }
        case .query(let query):
            guard let found = try? await test.store.query(query, .at(time)).documents else {
                throw DocumentError(.unknown, "no results")
            }
            documents = found
        }
        #expect(Dictionary(uniqueKeysWithValues: documents.map { ($0.path, $0) }) == follower.documents)
    }

    private static func commit(_ test: TestStore, _ generator: inout SeededGenerator) async throws -> Timestamp {
        var writes: [Write] = []
        for _ in 0...Int.random(in: 0..<3, using: &generator) {
            let id = Int.random(in: 0..<8, using: &generator)
            let path = try DocumentPath(id < 6 ? "c/d\(id)" : "c/d0/c/e\(id)")
            let fields = ["n": Value.integer(.random(in: 0..<6, using: &generator)), "m": .boolean(true)]
            let operation: Write.Operation = Int.random(in: 0..<3, using: &generator) > 0 ? .set(fields) : .delete
            writes.append(Write(path: path, operation: operation))
        }
        return try await test.commit(writes).commitTime
    }

    private static func targets() throws -> [ListenTarget] {
        let n = try FieldPath("n")
        let all = Query(collectionID: "c")
        var filtered = all
        filtered.filter = .field(n, .greaterThan, .integer(2))
        filtered.projection = [n]
        var window = all
        window.orderBy = [Query.Order(n, descending: true)]
        window.limit = 2
        var shifted = window
        shifted.offset = 1
        shifted.limit = nil
        var group = Query(collectionID: "c", allDescendants: true)
        group.limit = 3
        var between = all
        between.orderBy = [Query.Order(n)]
        between.start = Query.Cursor(values: [.integer(2)], before: true)
        between.end = Query.Cursor(values: [.integer(4)], before: true)
        var none = all
        none.limit = 0
        let documents = try ["c/d1", "c/d2", "c/d0/c/e7"].map { try DocumentPath($0) }
        return [.documents(Set(documents))]
            + [all, filtered, window, shifted, group, between, none].map { .query($0) }
    }
}
