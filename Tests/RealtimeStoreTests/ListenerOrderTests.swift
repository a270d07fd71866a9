import DocumentModel
import Foundation
import RealtimeModel
@testable import RealtimeStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// The order in which listeners, and callers, learn of commits.
struct ListenerOrderTests {
    private static let queries: [RealtimeQuery?] = [
        nil, RealtimeQuery(index: .key, limit: .first(2)), RealtimeQuery(index: .value, limit: .last(2)),
    ]

    @Test(.endsHangs, arguments: queries)
    func aCommitWhileTheInitialDataAreReadFollowsThem(query: RealtimeQuery?) async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("list", #"{"a":1,"b":2,"c":3}"#)
        let view = await ListenerView(fixture.store, try RealtimePath("list"), query) {
            fixture.setBlocking("list/a", nil)
            fixture.setBlocking("list/d", RealtimeNode(4))
        }
        try await fixture.set("other", "1")
        let list = try await fixture.read { try $0.node(at: RealtimePath("list"), matching: query) }
        #expect(view.node == list)
        #expect(view.history.count >= 2)
        try await fixture.close()
    }

    /// Then they are read again, in place of keeping what is to follow them.
    @Test(.endsHangs, arguments: queries, [false, true])
    func veryManyCommitsWhileTheInitialDataAreReadAreInThem(query: RealtimeQuery?, areLarge: Bool) async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("list", #"{"a":1,"b":2,"c":3}"#)
        let view = await ListenerView(fixture.store, try RealtimePath("list"), query) {
            let text = String(repeating: "x", count: areLarge ? 100_000 : 1)
            for number in 0..<(areLarge ? 30 : 1_100) {
                fixture.setBlocking(
                    "list/\(["a", "b", "c", "d"][number % 4])", RealtimeNode(.string("\(text)\(number)")))
            }
        }
        try await fixture.set("other", "1")
        await fixture.store.hub.settle()
        let list = try await fixture.read { try $0.node(at: RealtimePath("list"), matching: query) }
        #expect(view.node == list)
        // What has come meanwhile isn't pushed change by change.
        #expect(view.history.count <= 3)
        try await fixture.set("list/e", "5")
        try await fixture.set("list/a", "true")
        let next = try await fixture.read { try $0.node(at: RealtimePath("list"), matching: query) }
        #expect(view.node == next)
        try await fixture.close()
    }

    /// A commit is durable, so that readers see it, before the writer tells of it.
    @Test(.endsHangs, arguments: queries)
    func aCommitThatTheInitialDataHaveIsNotPushed(query: RealtimeQuery?) async throws {
        let engine = PausingEngine()
        let fixture = try RealtimeFixture(on: engine)
        try await fixture.set("list", #"{"a":1,"b":2}"#)
        let (paused, pause) = AsyncStream.makeStream(of: Void.self)
        engine.pauseNext { pause.yield() }
        async let committed = fixture.set("list/c", "3")
        for await _ in paused { break }
        let begun = SharedList<Bool>()
        async let begin = ListenerView(fixture.store, try RealtimePath("list"), query) {
            begun.append(true)
            engine.goOn()
        }
        let view = try await begin
        _ = try await committed
        try await fixture.set("other", "1")
        #expect(begun.all == [true])
        #expect(view.history.count == 1)
        let list = try await fixture.read { try $0.node(at: RealtimePath("list"), matching: query) }
        #expect(view.node == list)
        try await fixture.close()
    }

    @Test(.endsHangs) func effectsComeBeforeAnswers() async throws {
        let fixture = try RealtimeFixture()
        let view = await ListenerView(fixture.store, .root)
        for number in 1...20 {
            let seen = await withCheckedContinuation { continuation in
                let write = RealtimeWrite.set(
                    RealtimeTarget(.root), RealtimeWriteValue(RealtimeNode(.number(RealtimeNumber(Int64(number))))))
                fixture.store.commit(RealtimeCommit([write], in: RealtimeFixture.namespace)) { _ in
                    continuation.resume(returning: view.node)
                }
            }
            #expect(seen == RealtimeNode(.number(RealtimeNumber(Int64(number)))))
        }
        try await fixture.close()
    }

    /// What made the hash stale comes before the refusal.
    @Test(.endsHangs) func whatMadeAHashStaleComesBeforeTheRefusal() async throws {
        let fixture = try RealtimeFixture()
        let view = await ListenerView(fixture.store, .root, RealtimeQuery(index: .key, limit: .first(5)))
        let target = RealtimeTarget(try RealtimePath("a"))
        let seen = await withCheckedContinuation { continuation in
            let first = RealtimeWrite.set(target, RealtimeWriteValue(RealtimeNode(1)))
            let second = RealtimeWrite.set(target, RealtimeWriteValue(RealtimeNode(2)), ifHash: "")
            fixture.store.commit(RealtimeCommit([first], in: RealtimeFixture.namespace)) { _ in }
            fixture.store.commit(RealtimeCommit([second], in: RealtimeFixture.namespace)) { result in
                #expect(throws: RealtimeFailure.stale) { try result.get() }
                continuation.resume(returning: view.node)
            }
        }
        #expect(seen?[try RealtimePath("a")] == RealtimeNode(1))
        try await fixture.close()
    }

    /// A client that has an answer takes what it knows for the state with its own write, and what it was sent of later
    /// commits before for older.
    @Test(.endsHangs, arguments: [false, true]) func answersComeBeforeLaterCommits(hasManyCommits: Bool) async throws {
        let engine = PausingEngine()
        let fixture = try RealtimeFixture(on: engine)
        let log = SharedList<String>()
        @Sendable func note(_ name: String, _ push: RealtimePush) {
            let changes = push.changes.map { change in
                "\(change.target.string)=\(change.node.map { $0.leaf == nil ? "object" : "leaf" } ?? "nothing")"
            }
            log.append("\(name) \(changes.joined(separator: ","))")
        }
        let path = try RealtimePath("race")
        let views = [
            await ListenerView(fixture.store, path, received: { note("all", $0) }),
            await ListenerView(
                fixture.store, path, RealtimeQuery(index: .key, limit: .first(5)), received: { note("first", $0) }),
        ]
        let (paused, pause) = AsyncStream.makeStream(of: Void.self)
        engine.pauseNext { pause.yield() }
        async let first = fixture.set("other", "1")
        for await _ in paused { break }
        // These are one batch.
        let (answers, answered) = AsyncStream.makeStream(of: Void.self)
        func commit(_ path: String, _ node: RealtimeNode?, _ name: String) throws {
            let write = RealtimeWrite.set(RealtimeTarget(try RealtimePath(path)), RealtimeWriteValue(node))
            fixture.store.commit(RealtimeCommit([write], in: RealtimeFixture.namespace)) { _ in
                log.append("answer \(name)")
                answered.yield()
            }
        }
        try commit("race/b", RealtimeNode(7), "1")
        try commit("race", RealtimeNode("text"), "2")
        try commit("race/c", RealtimeNode(8), "3")
        // With more commits than are undone, queries have the last of them early.
        let others = hasManyCommits ? 300 : 0
        for number in 0..<others { try commit("others/\(number)", RealtimeNode(1), "other") }
        engine.goOn()
        _ = try await first
        var count = 0
        for await _ in answers {
            count += 1
            if count == 3 + others { break }
        }
        let lines = log.all.filter { $0 != "answer other" }
        #expect(
            lines.filter { !$0.hasPrefix("first") } == [
                "all b=leaf", "answer 1", "all =leaf", "answer 2", "all c=leaf", "answer 3",
            ])
        if !hasManyCommits {
            #expect(
                lines.filter { !$0.hasPrefix("all") } == [
                    "first b=leaf", "answer 1", "first =nothing", "answer 2", "first c=leaf", "answer 3",
                ])
        }
        let race = try await fixture.read { try $0.node(at: path) }
        for view in views { #expect(view.node == race) }
        try await fixture.close()
    }

    @Test(.endsHangs) func listenersOfOnePathShareAPush() async throws {
        let fixture = try RealtimeFixture()
        let query = RealtimeQuery(index: .key, limit: .last(3))
        for query in [nil, query] {
            var views: [ListenerView] = []
            for _ in 0..<5 { views.append(await ListenerView(fixture.store, try RealtimePath("a"), query)) }
            try await fixture.set("a/b", query == nil ? "1" : "2")
            let pushes = views.flatMap { $0.takePushes() }
            #expect(pushes.count == 5)
            #expect(pushes.allSatisfy { $0 === pushes[0] })
        }
        #expect(fixture.store.listenerCount == 10)
        try await fixture.close()
    }

    @Test(.endsHangs) func aMultiPathUpdateIsOnePush() async throws {
        let fixture = try RealtimeFixture()
        let view = await ListenerView(fixture.store, .root)
        let below = await ListenerView(fixture.store, try RealtimePath("a/x"))
        let beside = await ListenerView(fixture.store, try RealtimePath("c"))
        try await fixture.update("", #"{"a/x":1,"b":{"c":true}}"#)
        #expect(view.takePushes().map(\.changes.count) == [2])
        #expect(below.takePushes().count == 1)
        #expect(beside.takePushes().isEmpty)
        // What was so before isn't a change.
        try await fixture.update("", #"{"a/x":1,"b":{"c":true}}"#)
        try await fixture.set("a", #"{"x":1,"y":2}"#)
        #expect(below.takePushes().isEmpty)
        #expect(view.takePushes().count == 1)
        try await fixture.close()
    }

    @Test(.endsHangs) func aCancelledListenerReceivesNothing() async throws {
        let fixture = try RealtimeFixture()
        let view = await ListenerView(fixture.store, .root)
        view.cancel()
        try await fixture.set("a", "1")
        #expect(view.takePushes().isEmpty)
        #expect(fixture.store.listenerCount == 0)
        try await fixture.close()
    }
}

/// An engine that waits, once asked, after a batch is durable and before the writer learns of it.
private final class PausingEngine: StorageEngine {
    private let inner = MemoryEngine()
    private let pause = Mutex<(@Sendable () -> Void)?>(nil)
    private let release = DispatchSemaphore(value: 0)

    /// Pauses after the next write that adds a row to the tree: the writer also wakes up without work.
    func pauseNext(_ paused: @escaping @Sendable () -> Void) { pause.withLock { $0 = paused } }
    func goOn() { release.signal() }

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    private var rows: Int {
        get throws { try inner.makeReadSession().read { try $0.count(.tree, .all) } }
    }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        let before = try rows
        let result = try inner.write(body)
        if try rows > before, let paused = pause.withLock({ $0.take() }) {
            paused()
            release.wait()
        }
        return result
    }

    func close() throws { try inner.close() }
}
