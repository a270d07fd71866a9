import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Listeners whose events are taken together.
@Suite(.endsHangs) struct ListenerGroupTests {
    /// A group, and what it was signalled.
    private struct Followed {
        let group: ListenerGroup
        private let signals: AsyncStream<Void>.Iterator

        init(_ test: TestStore) {
            let (stream, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))
            signals = stream.makeAsyncIterator()
            group = ListenerGroup(test.store) { continuation.yield() }
        }

        /// The next batch of all members, or of some.
        func next(of members: Set<Int32>? = nil) async -> ListenerGroup.Batch? {
            var signals = signals
            while true {
                if let batch = group.take(of: members) { return batch }
                if await signals.next() == nil { return nil }
            }
        }
    }

    private func paths(_ news: ListenerGroup.News) -> [String] {
        guard case .event(let event) = news else { return ["failed"] }
        switch event {
        case .initial(let documents, _): return documents.map(\.path.string)
        case .changes(let changes, _): return changes.map { "~" + $0.document.path.string }
        case .count(let count, _): return ["#\(count)"]
        case .startOver: return ["start over"]
        }
    }

    @Test func aCommitReachesAllMembersAtOnce() async throws {
        try await withStore { test in
            try await test.set("a/1", [:])
            let followed = Followed(test)
            let context = OperationContext()
            try followed.group.listen(to: .query(Query(collectionID: "a")), as: 2, in: context)
            try followed.group.listen(to: .documents([try DocumentPath("b/1")]), as: 4, in: context)
            var seen: [Int32: [String]] = [:]
            while seen.count < 2 {
                for (member, news) in try #require(await followed.next()).news { seen[member] = paths(news) }
            }
            #expect(seen == [2: ["a/1"], 4: []])
            for number in 0..<50 {
                let writes = try ["a/\(number)x", "b/1"].map { path in
                    Write(path: try DocumentPath(path), operation: .set(["n": .integer(Int64(number))]))
                }
                let time = try await test.commit(writes).commitTime
                let batch = try #require(await followed.next())
                #expect(batch.time == time)
                #expect(batch.news.map(\.member) == [2, 4])
                #expect(batch.news.flatMap { paths($0.news) } == ["~a/\(number)x", "~b/1"])
            }
            followed.group.remove(2)
            try await test.set("a/more", [:])
            try await test.set("b/1", [:])
            #expect(try #require(await followed.next()).news.map(\.member) == [4])
            followed.group.close()
        }
    }

    /// Where it counts as unread.
    @Test func newsThatAreNotAskedForWaitInTheStore() async throws {
        try await withStore { test in
            let followed = Followed(test)
            let context = OperationContext()
            try followed.group.listen(to: .query(Query(collectionID: "a")), as: 2, in: context)
            try followed.group.listen(to: .query(Query(collectionID: "b")), as: 4, in: context)
            var begun: Set<Int32> = []
            while begun.count < 2 {
                begun.formUnion(try #require(await followed.next()).news.map(\.member))
            }
            #expect(test.store.listeners.figures.unreadBytes == 0)
            var unread = 0
            for number in 0..<3 {
                let writes = try ["a/\(number)", "b/\(number)"].map { path in
                    Write(path: try DocumentPath(path), operation: .set([:]))
                }
                try await test.commit(writes)
                let batch = try #require(await followed.next(of: [4]))
                #expect(batch.news.map(\.member) == [4])
                let before = unread
                unread = test.store.listeners.figures.unreadBytes
                #expect(unread > before)
            }
            let rest = try #require(await followed.next())
            #expect(rest.news.map(\.member) == [2, 2, 2])
            #expect(rest.news.flatMap { paths($0.news) } == ["~a/0", "~a/1", "~a/2"])
            #expect(test.store.listeners.figures.unreadBytes == 0)
            followed.group.close()
        }
    }

    @Test func aMemberThatEndsIsReported() async throws {
        struct Nothing: AccessPolicy {
            func check(_ access: Access, in view: AccessView) throws {
                throw DocumentError(.permissionDenied, "no")
            }
        }
        try await withStore { test in
            let followed = Followed(test)
            let client = OperationContext(owner: 7, policy: Nothing())
            try followed.group.listen(to: .query(Query(collectionID: "a")), as: 2, in: client)
            let news = try #require(await followed.next()).news
            guard case .failed(let error)? = news.first?.news else {
                Issue.record("\(news)")
                return
            }
            #expect(error.code == .permissionDenied && news.count == 1)
            #expect(throws: DocumentError.self) {
                try followed.group.listen(
                    to: .query(Query(collectionID: "a", allDescendants: true).limited(-1)), as: 4, in: client)
            }
        }
    }
}

extension Query {
    fileprivate func limited(_ limit: Int) -> Query {
        var query = self
        query.limit = limit
        return query
    }
}
