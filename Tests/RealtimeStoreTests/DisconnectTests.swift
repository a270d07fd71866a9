import CommitPipeline
import DocumentModel
import RealtimeModel
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

@testable import RealtimeStore

/// Writes that happen when clients disconnect.
struct DisconnectTests {
    private static let denied = RealtimeFailure(.denied, "Permission denied")

    private func register(
        _ fixture: RealtimeFixture, _ path: String, _ json: String, _ operation: RealtimeDisconnect.Operation = .set,
        session: String = "s1", principal: String = "ada"
    ) async throws {
        let disconnect = RealtimeDisconnect(
            operation, try RealtimeTarget(path), value: Array(json.utf8), principal: Array(principal.utf8))
        try await withCheckedThrowingContinuation { continuation in
            fixture.store.register(disconnect, of: session, in: RealtimeFixture.namespace) {
                continuation.resume(with: $0)
            }
        }
    }

    private func cancel(_ fixture: RealtimeFixture, _ path: String, session: String = "s1") async throws {
        let path = try RealtimePath(path)
        try await withCheckedThrowingContinuation { continuation in
            fixture.store.cancelDisconnects(at: path, of: session, in: RealtimeFixture.namespace) {
                continuation.resume(with: $0)
            }
        }
    }

    @discardableResult
    private func run(
        _ fixture: RealtimeFixture, session: String = "s1",
        check: @escaping @Sendable (RealtimeDisconnect) -> RealtimeCheck? = { _ in nil }
    ) async throws -> [RealtimeFailure?] {
        try await withCheckedThrowingContinuation { continuation in
            fixture.store.runDisconnects(of: session, in: RealtimeFixture.namespace, check: check) {
                continuation.resume(with: $0)
            }
        }
    }

    @Test(arguments: EngineKind.allCases)
    func registrationsSurviveARestartAndAreWrittenOnce(kind: EngineKind) async throws {
        let fixture = try RealtimeFixture(kind)
        try await fixture.set("users/ada", #"{"online":true,"visits":1}"#)
        try await register(fixture, "users/ada/online", "false")
        try await register(
            fixture, "users/ada", #"{"visits":{".sv":{"increment":1}},"seen/at":{".sv":"timestamp"}}"#, .update)
        try await register(fixture, "other", "1", session: "s2")
        #expect(try await fixture.json("users/ada") == #"{"online":true,"visits":1}"#)
        fixture.clock.advance(by: .seconds(60))
        try await fixture.reopen()
        let sessions = try await fixture.store.disconnectSessions()
        #expect(sessions.map(\.session) == ["s1", "s2"])
        #expect(sessions.allSatisfy { $0.namespace == RealtimeFixture.namespace })
        #expect(try fixture.problems() == [])
        // Two at once, as if the socket's end and its successor's name for it came together.
        async let first = run(fixture)
        async let second = run(fixture)
        let outcomes = try await [first, second]
        #expect(outcomes.joined().count { $0 == nil } == 2)
        let now = fixture.clock.timestamp().microseconds / 1_000
        let ada = try await fixture.json("users/ada")
        #expect(ada.hasPrefix(#"{"online":false,"seen":{"at":\#(now)"#))
        #expect(ada.hasSuffix(#""visits":2}"#))
        #expect(try await fixture.store.disconnectSessions().map(\.session) == ["s2"])
        #expect(try await run(fixture) == [])
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test func aRefusedWriteIsRemovedAndTheOthersHappen() async throws {
        let fixture = try RealtimeFixture()
        try await register(fixture, "a", "1", principal: "eve")
        try await register(fixture, "b", "2", principal: "ada")
        try await register(fixture, "c", "broken")
        let failures = try await run(fixture) { disconnect in
            let isEve = disconnect.principal == Array("eve".utf8)
            return { _, _, _, _ in if isEve { throw Self.denied } }
        }
        #expect(failures.map { $0?.code } == [.denied, nil, .invalid])
        #expect(try await fixture.json() == #"{"b":2}"#)
        #expect(try await fixture.store.disconnectSessions().isEmpty)
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    /// The rules that a reader has decided by were replaced before the writer got the write.
    @Test(.endsHangs) func aDecisionOfAnEarlierGenerationIsMadeAgain() async throws {
        let fixture = try RealtimeFixture()
        try await register(fixture, "a", "1")
        let decisions = SharedList<Int>()
        let failures: [RealtimeFailure?] = try await withCheckedThrowingContinuation { continuation in
            fixture.store.runDisconnects(
                of: "s1", in: RealtimeFixture.namespace,
                check: { _ in
                    return { _, _, _, _ in
                        decisions.append(1)
                        if decisions.all.count > 1 { throw Self.denied }
                    }
                },
                checkGeneration: { UInt64(decisions.all.count) }
            ) { continuation.resume(with: $0) }
        }
        #expect(failures == [Self.denied])
        #expect(decisions.all.count == 2)
        #expect(try await fixture.json() == "null")
        #expect(try await fixture.store.disconnectSessions().isEmpty)
        try await fixture.close()
    }

    /// It would never succeed, so it isn't kept for another try.
    @Test func aWriteThatWouldCallTooManyFunctionsIsRemovedToo() async throws {
        let fixture = try RealtimeFixture()
        fixture.route(to: [try RealtimeTrigger("f", .written, "rooms/{room}")])
        let rooms = "{" + (0...1_000).map { "\"r\($0)\":1" }.joined(separator: ",") + "}"
        try await register(fixture, "rooms", rooms)
        try await register(fixture, "b", "2")
        #expect(try await run(fixture).map { $0?.code } == [.triggerLimit, nil])
        #expect(try await fixture.json() == #"{"b":2}"#)
        #expect(try await fixture.take("f") == [])
        #expect(try await fixture.store.disconnectSessions().isEmpty)
        try await fixture.close()
    }

    @Test func cancellingForgetsThePathAndWhatIsBelow() async throws {
        let fixture = try RealtimeFixture()
        try await register(fixture, "a/b", "1")
        try await register(fixture, "a/b/c/.priority", "1")
        try await register(fixture, "ab", "2")
        try await register(fixture, "", #"{"a/b/x":3,"a/c":4,"a/b/y":5}"#, .update)
        try await register(fixture, "a", #"{"b":6}"#, .update)
        try await cancel(fixture, "a/b")
        #expect(try fixture.problems() == [])
        #expect(try await run(fixture).count == 2)
        #expect(try await fixture.json() == #"{"a":{"c":4},"ab":2}"#)
        try await register(fixture, "x", "1")
        try await cancel(fixture, "")
        #expect(try await fixture.store.disconnectSessions().isEmpty)
        try await fixture.close()
    }

    /// As the SDKs document it: the write at the path is cancelled, and those beside it still occur.
    @Test func cancellingBelowAValueLeavesItsPartsBesideThePath() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("a", #"{"b":{"x":"old"},"z":true}"#)
        let value = #"{"b":{"x":1,"y":{".sv":{"increment":2}}},"c":{".value":3,".priority":{".sv":{"increment":4}}}"#
        try await register(fixture, "a", value + #","d":{"e":5}}"#)
        try await register(fixture, "", #"{"f":{"g":6,"h":{"i":7}},"j":8}"#, .update)
        try await register(fixture, "k", #"{"l":9}"#)
        for path in ["a/b/x", "a/d/e/below", "f/h/i", "k/l"] { try await cancel(fixture, path) }
        #expect(try fixture.problems() == [])
        #expect(try await run(fixture) == [nil, nil])
        #expect(
            try await fixture.json("a")
                == #"{"b":{"x":"old","y":2},"c":{".value":3,".priority":4},"d":{"e":5},"z":true}"#)
        #expect(try await fixture.json("f") == #"{"g":6}"#)
        #expect(try await fixture.json("j") == "8")
        #expect(try await fixture.json("k") == "null")
        // A deletion has no parts.
        try await register(fixture, "a", "null")
        try await cancel(fixture, "a/b")
        #expect(try await run(fixture) == [nil])
        #expect(try await fixture.json("a") == "null")
        #expect(try await fixture.store.disconnectSessions().isEmpty)
        try await fixture.close()
    }

    @Test func aCancellationThatLeavesTooMuchDoesNothing() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxDisconnectBytes = 1_000
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        let key = String(repeating: "k", count: 300)
        // The long key would be in the place of each part.
        try await register(fixture, "a", #"{"\#(key)":{"p":1,"q":2,"r":3,"s":4,"x":5}}"#)
        let failure = await #expect(throws: RealtimeFailure.self) { try await cancel(fixture, "a/\(key)/x") }
        #expect(failure?.code == .invalid)
        #expect(try fixture.problems() == [])
        #expect(try await run(fixture) == [nil])
        #expect(try await fixture.json("a/\(key)") == #"{"p":1,"q":2,"r":3,"s":4,"x":5}"#)
        try await fixture.close()
    }

    /// What is left of many would take much memory, and the writer's time, before it is refused.
    @Test func whatManyRegistrationsLeaveIsNotKeptBeyondTheLimit() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxDisconnectBytes = 4_000
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        let key = String(repeating: "k", count: 300)
        for number in 0..<5 {
            try await register(fixture, "", #"{"a/\#(key)":{"p":1,"q":2,"r":3,"x":4},"b\#(number)":5}"#, .update)
        }
        let path = try RealtimePath("a/\(key)/x")
        // Each leaves about 1,000 bytes.
        let failure = #expect(throws: RealtimeFailure.self) {
            try fixture.engine.makeReadSession().read { storage in
                try DisconnectRows(storage: storage)
                    .remainders(without: path, of: "s1", in: RealtimeFixture.namespace, configuration)
            }
        }
        #expect(failure?.code == .invalid)
        await #expect(throws: RealtimeFailure.self) { try await cancel(fixture, "a/\(key)/x") }
        #expect(try await run(fixture).count == 5)
        try await fixture.close()
    }

    /// Keys are compared by their bytes: two may look alike.
    @Test func cancellingOneOfTwoKeysThatLookAlikeLeavesTheOther() async throws {
        let fixture = try RealtimeFixture()
        try await register(
            fixture, "a",
            "{\"e\u{301}\":{\".sv\":{\"increment\":2}},\"\u{E9}\":1,\"b/.priority\":3,\"b/c\":{\".value\":true,\".priority\":4}}",
            .update)
        try await cancel(fixture, "a/\u{E9}")
        #expect(try fixture.problems() == [])
        #expect(try await run(fixture) == [nil])
        let expected = "{\"b\":{\"c\":{\".value\":true,\".priority\":4},\".priority\":3},\"e\u{301}\":2}"
        let json = try await fixture.json("a")
        #expect(json.utf8.elementsEqual(expected.utf8), "\(json)")
        try await fixture.close()
    }

    @Test func aSetReplacesWhatWasRegisteredBelow() async throws {
        let fixture = try RealtimeFixture()
        for number in 0..<20 { try await register(fixture, "a/b", "\(number)") }
        try await register(fixture, "a/b", #"{"n":1}"#, .update)
        try await register(fixture, "a", #"{"n":1}"#, .update)
        try await register(fixture, "a", #"{"c":1}"#)
        #expect(try await run(fixture).count == 1)
        #expect(try await fixture.json() == #"{"a":{"c":1}}"#)
        try await fixture.close()
    }

    /// Clients' updates are all at the root, wherever they write.
    @Test func aSetReplacesUpdatesAboveThatWriteNothingElse() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxDisconnects = 3
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        try await register(fixture, "", #"{"a/n":1,"b":1}"#, .update)
        for number in 0..<10 {
            try await register(fixture, "", #"{"a/k\#(number)":1,"a/m/.priority":1}"#, .update)
            try await register(fixture, "a", #"{"c":\#(number)}"#)
        }
        #expect(try fixture.problems() == [])
        #expect(try await run(fixture) == [nil, nil])
        #expect(try await fixture.json() == #"{"a":{"c":9},"b":1}"#)
        try await fixture.close()
    }

    /// As SDKs see it: they replace what was registered for a path before.
    @Test func anUpdateReplacesThoseAtItsPathWhoseWritesItHas() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxDisconnects = 3
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        for _ in 0..<10 {
            try await register(fixture, "a", #"{"n":{".sv":{"increment":1}},"b/c":1}"#, .update)
        }
        try await register(fixture, "a", #"{"n":{".sv":{"increment":1}},"b":2}"#, .update)
        #expect(try fixture.problems() == [])
        // These lack some of it.
        try await register(fixture, "a", #"{"b/d":3}"#, .update)
        try await register(fixture, "a", #"{"b/.priority":4}"#, .update)
        #expect(try await run(fixture).count == 3)
        #expect(try await fixture.json("a/n") == "1")
        #expect(try await fixture.json("a/b/d") == "3")
        #expect(try fixture.problems() == [])
        try await fixture.close()
    }

    @Test func thereIsALimitForEachSession() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxDisconnects = 3
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        for name in ["a", "b", "c"] { try await register(fixture, name, "1") }
        let failure = await #expect(throws: RealtimeFailure.self) { try await register(fixture, "d", "1") }
        #expect(failure?.code == .invalid)
        try await register(fixture, "d", "1", session: "s2")
        try await fixture.close()
    }

    @Test func theBytesOfASessionAreLimitedAndWhatIsReplacedCountsNoMore() async throws {
        var configuration = RealtimeStoreConfiguration()
        configuration.maxDisconnectBytes = 1_000
        let fixture = try RealtimeFixture(.memory, configuration: configuration)
        let text = "\"" + String(repeating: "x", count: 400) + "\""
        try await register(fixture, "a/b", text)
        try await register(fixture, "a/c", text)
        let failure = await #expect(throws: RealtimeFailure.self) { try await register(fixture, "d", text) }
        #expect(failure?.code == .invalid)
        #expect(try fixture.problems() == [])
        for _ in 0..<10 { try await register(fixture, "a/b", text) }
        // One that replaces both has room, and so has another one then.
        try await register(fixture, "a", text)
        try await register(fixture, "d", text)
        try await cancel(fixture, "d")
        try await register(fixture, "e", text)
        #expect(try fixture.problems() == [])
        #expect(try await run(fixture).count == 2)
        #expect(try await fixture.store.disconnectSessions().isEmpty)
        try await fixture.close()
    }

    @Test func registrationsHappenInTheirOrderWhateverTheirPaths() async throws {
        let fixture = try RealtimeFixture()
        try await fixture.set("n", "1")
        try await register(fixture, "z", #"{".sv":{"increment":1}}"#)
        try await register(fixture, "", #"{"a":1,"z":10}"#, .update)
        try await register(fixture, "a", #"{".sv":{"increment":1}}"#)
        #expect(try await run(fixture) == [nil, nil, nil])
        #expect(try await fixture.json() == #"{"a":2,"n":1,"z":10}"#)
        try await fixture.close()
    }

    @Test func aDamagedSessionIsReportedAndStillEnds() async throws {
        let fixture = try RealtimeFixture()
        try await register(fixture, "a", "1")
        try await register(fixture, "b", "2")
        try fixture.engine.write { try $0.put(.tree, RowKind.session.key(RealtimeFixture.namespace, "s1"), [1]) }
        #expect(try !fixture.problems().isEmpty)
        try await register(fixture, "b/c", "3")
        #expect(try fixture.problems() == [])
        #expect(try await run(fixture) == [nil, nil, nil])
        #expect(try await fixture.json() == #"{"a":1,"b":{"c":3}}"#)
        #expect(try await fixture.store.disconnectSessions().isEmpty)
        try await fixture.close()
    }

    @Test func aSessionWhoseRowTheEngineFindsDamagedStillEnds() async throws {
        let engine = DamagedRegistrations()
        let refusals = Mutex<[StorageError?]>([])
        var commits = CommitConfiguration()
        commits.onRefusal = { error in refusals.withLock { $0.append(error) } }
        let fixture = try RealtimeFixture(on: engine, commits: commits)
        try await register(fixture, "a", "1")
        try await register(fixture, "b", "2")
        engine.isSessionDamaged.withLock { $0 = true }
        #expect(try await run(fixture) == [nil, nil])
        #expect(try await fixture.json() == #"{"a":1,"b":2}"#)
        #expect(refusals.withLock { $0 } == [])
        try await fixture.close()
    }

    /// It stays; the others are performed.
    @Test func aRegistrationThatTheEngineFindsDamagedHoldsUpNoOther() async throws {
        let engine = UnreadRows()
        let fixture = try RealtimeFixture(on: engine)
        try await register(fixture, "a", "1")
        try await register(fixture, "b", "2")
        var keys: [[UInt8]] = []
        try engine.makeReadSession().read { storage in
            try storage.scanKeys(.tree, RowKind.disconnect.all, reverse: false) { key in
                keys.append(key)
                return true
            }
        }
        let first = try #require(keys.first)
        engine.errors.withLock { $0[first] = StorageError(.damaged, "the page can't be read") }
        #expect(try await run(fixture) == [nil])
        #expect(try await fixture.json() == #"{"b":2}"#)
        engine.errors.withLock { $0 = [:] }
        #expect(try await run(fixture) == [nil])
        #expect(try await fixture.json() == #"{"a":1,"b":2}"#)
        try await fixture.close()
    }

    /// Commits of others may be in the same batch.
    @Test func registrationsThatCannotBeReadFailNoBatch() async throws {
        let engine = DamagedRegistrations()
        let refusals = Mutex<[StorageError?]>([])
        var commits = CommitConfiguration()
        commits.onRefusal = { error in refusals.withLock { $0.append(error) } }
        let fixture = try RealtimeFixture(on: engine, commits: commits)
        try await register(fixture, "a", "1")
        engine.isDamaged.withLock { $0 = true }
        let damage = RealtimeFailure(.damaged, "the page can't be read")
        await #expect(throws: damage) { try await register(fixture, "b", "2") }
        await #expect(throws: damage) { try await cancel(fixture, "a") }
        await #expect(throws: damage) { _ = try await run(fixture) }
        let failures = Mutex<[RealtimeFailure]>([])
        let sessions = try await fixture.store.disconnectSessions { failure in
            failures.withLock { $0.append(failure) }
        }
        #expect(sessions == [RealtimeDisconnectSession(namespace: RealtimeFixture.namespace, session: "s1")])
        #expect(failures.withLock { $0 } == [damage])
        #expect(refusals.withLock { $0 } == [])
        engine.isDamaged.withLock { $0 = false }
        #expect(try await run(fixture) == [nil])
        #expect(try await fixture.json() == #"{"a":1}"#)
        try await fixture.close()
    }
}

/// A memory engine whose writer finds registrations damaged and what follows the first session, or sessions alone.
private final class DamagedRegistrations: StorageEngine {
    private let inner = MemoryEngine()
    let isDamaged = Mutex(false)
    let isSessionDamaged = Mutex(false)

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write {
            try body(
                Writer(
                    writer: $0, isDamaged: isDamaged.withLock { $0 },
                    isSessionDamaged: isSessionDamaged.withLock { $0 }))
        }
    }

    func close() throws {}

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let isDamaged: Bool
        let isSessionDamaged: Bool

        var inner: any StorageReader { writer }

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
            let isUnread =
                key.first == RowKind.session.rawValue && isSessionDamaged
                || key.first == RowKind.disconnect.rawValue && isDamaged
            if table == .tree, isUnread { throw StorageError(.damaged, "the page can't be read") }
            return try writer.get(table, key)
        }

        private func check(_ kind: RowKind, _ table: StorageTable, _ range: KeyRange) throws {
            guard isDamaged, table == .tree, range.lower.first == kind.rawValue else { return }
            throw StorageError(.damaged, "the page can't be read")
        }

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            try check(.disconnect, table, range)
            try writer.scan(table, range, reverse: reverse, body)
        }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            try writer.scanKeys(table, range, reverse: reverse, body)
            try check(.session, table, range)
        }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}
