import TestSupport
import StorageEngine
import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import Testing

struct FeedTests {
    @Test(arguments: EngineKind.allCases)
    func commitsComeInOrderWithBeforeAndAfter(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            let start = try await test.store.newestPosition()
            let first = try await test.set("a/b", ["n": .integer(1)]).commitTime
            let was = try await test.get("a/b")
            let writes = [
                Write(path: try DocumentPath("a/c"), operation: .set([:])),
                Write(path: try DocumentPath("a/b"), operation: .delete),
            ]
            let second = try await test.commit(writes).commitTime
            let made = try await test.get("a/c")
            // What changes nothing isn't reported.
            try await test.set("a/c", [:])
            let page = try await test.store.commits(after: start)
            #expect(page.isLast)
            #expect(
                page.commits == [
                    FeedCommit(
                        time: first, changes: [DocumentChange(path: try DocumentPath("a/b"), before: nil, after: was)]),
                    FeedCommit(
                        time: second,
                        changes: [
                            DocumentChange(path: try DocumentPath("a/b"), before: was, after: nil),
                            DocumentChange(path: try DocumentPath("a/c"), before: nil, after: made),
                        ]),
                ])
            #expect(try await test.store.commits(after: page.position).commits.isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases)
    func pagesAreBoundedAndLoseNothing(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            var position = try await test.store.newestPosition()
            var times: [Timestamp] = []
            for n in 0..<20 {
                let writes = try (0..<3).map { Write(path: try DocumentPath("a/\(n)-\($0)"), operation: .set([:])) }
                times.append(try await test.commit(writes).commitTime)
            }
            var found: [Timestamp] = []
            while true {
                let page = try await test.store.commits(after: position, atMostBytes: 300)
                #expect(page.commits.allSatisfy { $0.changes.count == 3 })
                #expect(page.commits.count <= 4)
                found += page.commits.map(\.time)
                position = page.position
                if page.isLast { break }
            }
            #expect(found == times)
        }
    }

    @Test func aFeedGoesOnWithWhatHappens() async throws {
        let test = try TestStore()
        let start = try await test.store.newestPosition()
        var times = [try await test.set("a/1", [:]).commitTime]
        var feed = test.store.feed(after: start, pageBytes: 1).makeAsyncIterator()
        #expect(try await feed.next()?.time == times[0])
        async let following = Self.take(3, of: test.store.feed(after: start))
        times.append(try await test.set("a/2", [:]).commitTime)
        times.append(try await test.set("a/3", [:]).commitTime)
        #expect(try await following == times)
        #expect(try await feed.next()?.time == times[1])
        #expect(try await feed.next()?.time == times[2])
        let waiting = Task { [feed] in
            var feed = feed
            return try await feed.next()
        }
        await test.store.shutdown()
        #expect(try await waiting.value == nil)
    }

    @Test func aFeedEndsWithItsTask() async throws {
        try await withStore { test in
            let start = try await test.store.newestPosition()
            let task = Task { try await Self.take(1, of: test.store.feed(after: start)) }
            task.cancel()
            #expect(try await task.value.isEmpty)
        }
    }

    @Test(arguments: EngineKind.allCases)
    func aFeedGoesOnAfterTheStoreIsOpenedAgain(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let clock = ManualClock()
        var position: Timestamp?
        for round in 0..<3 {
            let store = try DocumentStore(engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
            try store.start()
            if let position {
                let page = try await store.commits(after: position)
                #expect(page.commits.map { $0.changes.map(\.path.id) } == [["r\(round - 1)"]])
            }
            position = try await store.newestPosition()
            let write = Write(path: try DocumentPath("a/r\(round)"), operation: .set([:]))
            _ = try await store.commit([write])
            await store.shutdown()
        }
        try engine.close()
    }

    private static func take(_ count: Int, of feed: ChangeFeed) async throws -> [Timestamp] {
        var times: [Timestamp] = []
        for try await commit in feed {
            times.append(commit.time)
            if times.count == count { break }
        }
        return times
    }
}
