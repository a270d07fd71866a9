import CommitPipeline
import DocumentModel
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// What queries and their listeners may read and hold.
struct QueryLimitTests {
    /// Children `a` and so on with long texts that have their beginning in common.
    private static func texts(_ count: Int) -> RealtimeNode? {
        let children = (0..<count).map { number in
            let key = RealtimeKey(unchecked: String(UnicodeScalar(97 + UInt8(number))))
            return (key, RealtimeNode(.string(String(repeating: "x", count: 10_000) + String(number)), priority: nil))
        }
        return RealtimeNode(RealtimeChildren(sorted: children))
    }

    private static func set(_ node: RealtimeNode?, in fixture: RealtimeFixture) async throws {
        try await fixture.commit(.set(RealtimeTarget(try RealtimePath("list")), RealtimeWriteValue(node)))
    }

    private static func keys(from start: String) throws -> RealtimeQuery {
        RealtimeQuery(index: .key, start: .init(value: nil, key: .key(try RealtimeKey(start)), isInclusive: true))
    }

    // MARK: Bytes

    @Test(arguments: [false, true]) func theBytesOfAQueryCountTogether(isIndexed: Bool) async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.limits.maxBytes = 100_000
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        if isIndexed {
            let list = RealtimeIndexDefinition(parents: [.key(try RealtimeKey("list"))], index: .value)
            try await fixture.store.configureIndexes([list], in: RealtimeFixture.namespace)
            try await fixture.store.settle()
        }
        try await Self.set(Self.texts(20), in: fixture)
        let path = try RealtimePath("list")
        let (all, few) = (try Self.keys(from: "a"), try Self.keys(from: "p"))
        // One result, although it has one child only, has to look at all.
        let last = RealtimeQuery(index: .value, limit: .last(1))
        for body in [
            { _ = try $0.node(at: path, matching: all) },
            { _ = try $0.hash(at: path, matching: all) },
            { state in try state.writeJSON(at: path, matching: all, as: .plain) { _ in } },
            { _ = try $0.matches(of: last, at: path) },
        ] as [@Sendable (RealtimeSnapshot) throws -> Void] {
            let failure = await #expect(throws: RealtimeFailure.self) { try await fixture.read(body) }
            #expect(failure?.code == .tooLarge)
        }
        #expect(try await fixture.read { try $0.node(at: path, matching: few) }?.children.count == 5)
        // What was looked at and what is returned are one read, also if it was looked at before.
        let values = RealtimeQuery(index: .value, start: .init(value: "x", key: .minimum, isInclusive: true))
        try await Self.set(Self.texts(6), in: fixture)
        for isFound in [false, true] {
            let failure = await #expect(throws: RealtimeFailure.self) {
                try await fixture.read { state in
                    if isFound { _ = try state.matches(of: values, at: path) }
                    _ = try state.node(at: path, matching: values)
                }
            }
            #expect(failure?.code == .tooLarge)
        }
        try await Self.set(Self.texts(4), in: fixture)
        #expect(try await fixture.read { try $0.matches(of: last, at: path).entries.map(\.key.string) } == ["d"])
        #expect(try await fixture.read { try $0.node(at: path, matching: last) }?.children.count == 1)
        try await fixture.close()
    }

    /// The thread of all listeners doesn't read what is long.
    @Test(.endsHangs, arguments: [RealtimeQuery.Index.key, .value])
    func aLongResultIsReadBesideOtherListeners(index: RealtimeQuery.Index) async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.windowLimits.maxBytes = 100_000
        let fixture = try RealtimeFixture(.memory, configuration: configuration, commits: BlockedReaders.configuration)
        try await fixture.set("list", #"{"a":1,"b":2}"#)
        let query = RealtimeQuery(index: index, limit: .first(30))
        let view = await ListenerView(fixture.store, try RealtimePath("list"), query)
        let before = view.node
        let readers = await BlockedReaders(fixture.store, fillsQueue: false)
        try await Self.set(Self.texts(20), in: fixture)
        #expect(view.node == before)
        readers.release()
        try await fixture.store.settle()
        #expect(view.node == Self.texts(20))
        // A short one is read at once.
        let blocked = await BlockedReaders(fixture.store, fillsQueue: false)
        try await Self.set(Self.texts(2), in: fixture)
        #expect(view.node == Self.texts(2))
        blocked.release()
        try await fixture.close()
    }

    // MARK: Windows

    /// Taking each change into the window would hold up all other listeners.
    @Test(.endsHangs) func afterManyChangesTheResultIsReadAgain() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.windowLimits.maxQueryNodes = 10
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        try await fixture.set("list", #"{"a":1}"#)
        let view = await ListenerView(fixture.store, try RealtimePath("list"), try Self.keys(from: "a"))
        func update(_ count: Int) async throws -> [RealtimePush] {
            let entries = (0..<count).map { "\"c\($0)\":\(count)" }
            try await fixture.update("list", "{\(entries.joined(separator: ","))}")
            try await fixture.store.settle()
            #expect(view.node == (try await fixture.read { try $0.node(at: RealtimePath("list")) }))
            return view.takePushes()
        }
        #expect(try await update(10).map(\.changes.count) == [10])
        let pushes = try await update(11)
        #expect(pushes.map(\.changes.count) == [1])
        #expect(pushes.first?.changes.first?.target.path.isRoot == true)
        try await fixture.close()
    }

    /// A result that no client may leave unread isn't held in memory, nor encoded for each of them.
    @Test(.endsHangs, arguments: [10_000, 100_000]) func aResultThatIsTooLargeForAPushEndsItsListeners(
        maxBytes: Int
    ) async throws {
        var configuration = RealtimeStoreConfiguration()
        (configuration.windowLimits.maxQueryNodes, configuration.maxRefreshedBytes) = (2, maxBytes)
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        try await Self.set(Self.texts(2), in: fixture)
        let path = try RealtimePath("list")
        let view = await ListenerView(fixture.store, path, try Self.keys(from: "a"))
        let plain = await ListenerView(fixture.store, path)
        try await fixture.update("list", #"{"x":1,"y":2,"z":3}"#)
        try await fixture.store.settle()
        let list = try await fixture.read { try $0.node(at: path) }
        #expect(plain.node == list)
        if maxBytes == 10_000 {
            #expect(view.failure?.code == .tooLarge)
            #expect(fixture.store.listenerCount == 1)
        } else {
            #expect(view.failure == nil)
            #expect(view.node == list)
        }
        try await fixture.close()
    }

    /// All ranges are held until they are compared. A value is written piece by piece.
    @Test func largeRangesAreNoAnswerToACompoundHash() async throws {
        let fixture = try RealtimeFixture()
        let path = try RealtimePath("list")
        let compound = try #require(RealtimeCompoundHash(hashes: [""], paths: []))
        for (count, isSent) in [(20, true), (208, true), (209, false)] {
            try await Self.set(Self.many(count), in: fixture)
            let ranges = try await fixture.read { try $0.ranges(at: path, differingFrom: compound) }
            #expect((ranges != nil) == isSent, "\(count)")
        }
        try await fixture.close()
    }

    /// Children with texts of 10,000 bytes.
    private static func many(_ count: Int) -> RealtimeNode? {
        let children = (0..<count).map { number in
            (RealtimeKey(index: number), RealtimeNode(.string(String(repeating: "x", count: 10_000)), priority: nil))
        }
        return RealtimeNode(RealtimeChildren(sorted: children))
    }

    private func limitedFixture() async throws -> RealtimeFixture {
        var configuration = RealtimeStoreConfiguration()
        (configuration.maxWindowEntries, configuration.maxCallerWindowEntries) = (30, 20)
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        try await fixture.set("list", #"{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1,"j":1}"#)
        return fixture
    }

    @Test(.endsHangs) func windowsHaveALimitTogether() async throws {
        let fixture = try await limitedFixture()
        let path = try RealtimePath("list")
        func listen(from start: String, of caller: ReadCaller? = nil) async throws -> ListenerView {
            let view = await ListenerView(fixture.store, path, try Self.keys(from: start), of: caller)
            // Its begin has come to the listeners' thread then.
            _ = try await fixture.json("other")
            return view
        }
        var views: [ListenerView] = []
        for start in ["A", "B", "C"] { views.append(try await listen(from: start)) }
        // The same query is held once.
        for start in ["A", "B", "C", "A"] { views.append(try await listen(from: start)) }
        #expect(views.allSatisfy { $0.failure == nil })
        let refused = try await listen(from: "D")
        #expect(refused.failure?.code == .unavailable)
        #expect(refused.failure?.message.contains("30 children") == true)
        #expect(fixture.store.listenerCount == 7)
        // Those of the query B leave their place.
        views[1].cancel()
        #expect(try await listen(from: "D").failure?.code == .unavailable)
        views[4].cancel()
        let admitted = try await listen(from: "D")
        #expect(admitted.failure == nil)
        // A window that grows beyond the limit ends, those that have a place go on.
        try await fixture.set("list/k", "1")
        let live = views.enumerated().filter { $0.offset != 1 && $0.offset != 4 }.map(\.element) + [admitted]
        #expect(live.contains { $0.failure?.code == .unavailable })
        #expect(live.contains { $0.failure == nil })
        try await fixture.set("list", "null")
        for view in live { view.cancel() }
        try await fixture.set("list/a", "1")
        #expect(fixture.store.listenerCount == 0)
        #expect(try await listen(from: "E").failure == nil)
        try await fixture.close()
    }

    @Test(.endsHangs) func aCallersWindowsHaveAShare() async throws {
        let fixture = try await limitedFixture()
        let path = try RealtimePath("list")
        func listen(_ query: RealtimeQuery, of caller: UInt64) async throws -> ListenerView {
            let view = await ListenerView(fixture.store, path, query, of: .client(caller))
            _ = try await fixture.json("other")
            return view
        }
        var views: [ListenerView] = []
        for start in ["A", "B"] { views.append(try await listen(try Self.keys(from: start), of: 1)) }
        #expect(views.allSatisfy { $0.failure == nil })
        let refused = try await listen(try Self.keys(from: "C"), of: 1)
        #expect(refused.failure?.code == .tooLarge)
        // Before anything else: a client that has begun would lose its connection, come back, and lose it again.
        #expect(refused.node == nil)
        // Another client has its own share, and takes over a window that it shares.
        views.append(try await listen(try Self.keys(from: "A"), of: 2))
        #expect(views[2].failure == nil)
        views[0].cancel()
        let again = try await listen(try Self.keys(from: "C"), of: 1)
        #expect(again.failure == nil)
        let other = try await listen(RealtimeQuery(index: .value, limit: .last(5)), of: 2)
        #expect(other.failure?.code == .unavailable)
        views[1].cancel()
        #expect(try await listen(RealtimeQuery(index: .value, limit: .last(5)), of: 2).failure == nil)
        try await fixture.close()
    }

    /// Windows of long values have fewer places.
    @Test(.endsHangs) func longValuesTakeSeveralPlaces() async throws {
        let fixture = try await limitedFixture()
        try await fixture.set("list", "null")
        try await Self.set(Self.texts(2), in: fixture)
        let view = await ListenerView(
            fixture.store, try RealtimePath("list"), RealtimeQuery(index: .value, limit: .last(5)))
        let short = await ListenerView(
            fixture.store, try RealtimePath("list"), RealtimeQuery(index: .key, limit: .last(5)))
        _ = try await fixture.json("other")
        #expect(view.failure?.code == .unavailable)
        #expect(short.failure == nil)
        try await fixture.close()
    }

    // MARK: Overload

    @Test(.endsHangs) func aResultThatReadersHaveNoTimeForIsReadLater() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.windowLimits.maxQueryNodes = 2
        let fixture = try RealtimeFixture(.memory, configuration: configuration, commits: BlockedReaders.configuration)
        try await fixture.set("list", #"{"a":1,"b":2}"#)
        let path = try RealtimePath("list")
        let query = RealtimeQuery(index: .value, limit: .last(2))
        let view = await ListenerView(fixture.store, path, query)
        let cancelled = await ListenerView(fixture.store, path, RealtimeQuery(index: .value, limit: .last(3)))
        let readers = await BlockedReaders(fixture.store, fillsQueue: true)
        try await fixture.set("list", #"{"a":1,"b":2,"c":3,"d":4}"#)
        // The refusal has come to the listeners' thread then.
        try await fixture.set("list/e", "5")
        #expect(view.failure == nil)
        #expect(view.takePushes().isEmpty)
        // It is refused again.
        fixture.clock.advance(by: .seconds(1))
        try await fixture.set("list/f", "6")
        #expect(view.failure == nil)
        cancelled.cancel()
        readers.release()
        let hasSettled = Atomic(false)
        let settled = Task {
            defer { hasSettled.store(true, ordering: .releasing) }
            try await fixture.store.settle()
        }
        // Whenever the readers' refusal came, it is asked for again.
        var isPushed = false
        while view.node?.children.count != 2 || !isPushed || !hasSettled.load(ordering: .acquiring) {
            isPushed = !view.takePushes().isEmpty || isPushed
            fixture.clock.advance(by: .seconds(1))
            _ = try await fixture.json("other")
        }
        try await settled.value
        #expect(view.node == (try await fixture.read { try $0.node(at: path, matching: query) }))
        #expect(view.failure == nil)
        try await fixture.set("list/g", "7")
        #expect(view.node == (try await fixture.read { try $0.node(at: path, matching: query) }))
        try await fixture.close()
    }

    // MARK: Groups

    /// As a connection that listens to many queries of one path, each begun and ended without looking at the others.
    @Test(.endsHangs) func listenersOfManyQueriesBeginShareAndEnd() async throws {
        let fixture = try RealtimeFixture()
        let path = try RealtimePath("list")
        func listen(_ number: Int) async -> ListenerView {
            await ListenerView(fixture.store, path, RealtimeQuery(index: .key, limit: .last(1 + number)))
        }
        var views: [ListenerView] = []
        for number in 0..<400 { views.append(await listen(number % 200)) }
        try await fixture.set("list/a", "1")
        let pushes = views.map { $0.takePushes() }
        #expect(pushes.allSatisfy { $0.count == 1 })
        for number in 0..<200 { #expect(pushes[number].first === pushes[number + 200].first) }
        // Those that follow join a group that its first listener has left.
        for view in views[..<200] { view.cancel() }
        var others: [ListenerView] = []
        for number in 0..<200 { others.append(await listen(number)) }
        try await fixture.set("list/a", "2")
        for number in 0..<200 {
            let (first, second) = (views[number + 200].takePushes(), others[number].takePushes())
            #expect(first.count == 1)
            #expect(first.first === second.first)
        }
        for view in views[200...] + others[...] { view.cancel() }
        try await fixture.set("list/a", "3")
        #expect(fixture.store.listenerCount == 0)
        try await fixture.close()
    }
}
