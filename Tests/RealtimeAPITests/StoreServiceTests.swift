import CommitPipeline
import DocumentModel
import Foundation
import Logging
import RealtimeHashing
import RealtimeModel
import RealtimeStore
import SecurityRules
import StorageEngine
import StrictJSON
import Synchronization
import TestSupport
import Testing

@testable import RealtimeAPI

/// The databases of the store under rules.
@Suite struct StoreServiceTests {
    private static let rules = """
        {"rules": {
          "open": {".read": true, ".write": true, "scores": {".indexOn": "points"}},
          "own": {"$uid": {".read": "$uid === auth.uid", ".write": "$uid === auth.uid"}},
          "dropbox": {".write": true}
        }}
        """

    private static let client = RealtimeClient(address: 1)

    /// A store in memory with its service, which can be started again.
    private final class Host: Sendable {
        let engine = MemoryEngine()
        private let parts: Mutex<(pipeline: CommitPipeline, service: StoreRealtimeService)>

        init(isDevelopment: Bool = true) throws { parts = Mutex(try Self.start(engine, isDevelopment)) }

        private static func start(
            _ engine: MemoryEngine, _ isDevelopment: Bool
        ) throws -> (CommitPipeline, StoreRealtimeService) {
            let pipeline = try CommitPipeline(engine: engine, now: Timestamp.wallClock)
            var configuration = RealtimeStoreConfiguration()
            configuration.createsNamespaces = isDevelopment
            let store = try RealtimeStore(on: pipeline, configuration: configuration)
            try pipeline.start()
            let service = StoreRealtimeService(
                store, names: ["shop"], isDevelopment: isDevelopment,
                spool: Spool(directory: FileManager.default.temporaryDirectory.path), logger: Logger(label: "test"),
                now: { Timestamp.wallClock().microseconds / 1000 })
            return (pipeline, service)
        }

        var service: StoreRealtimeService { parts.withLock { $0.service } }

        func restart() async throws {
            await parts.withLock { $0.pipeline }.shutdown()
            let next = try Self.start(engine, true)
            parts.withLock { $0 = next }
            try await service.restore()
        }

        func close() async { await parts.withLock { $0.pipeline }.shutdown() }

        /// Holds up the writer: what is submitted from now on, such as new indexes, isn't there until the gate is signalled.
        func holdWriter() throws -> DispatchSemaphore {
            let gate = DispatchSemaphore(value: 0)
            let write = RealtimeWrite.set(try RealtimeTarget("held"), RealtimeWriteValue(RealtimeNode(1)))
            var commit = RealtimeCommit([write], in: "shop") { _, _, _, _ in gate.wait() }
            // The writer itself makes the check.
            commit.isCheckQuick = true
            service.shared.store.commit(commit) { _ in }
            return gate
        }

        /// Changes with each tree that is made: for the rows of a large value, for instance.
        func nextTree() throws -> [UInt8]? { try engine.makeReadSession().read { try $0.get(.tree, [3]) } }

        func database(_ name: String = "shop") throws -> any RealtimeDatabase { try service.database(name) }

        func read(_ path: String, as principal: RealtimePrincipal = .admin) async throws -> String {
            let (database, read) = (try database(), RealtimeRead(try RealtimePath(path), form: .value(.export)))
            let result = await withCheckedContinuation { continuation in
                database.read(read, as: principal, for: StoreServiceTests.client) { continuation.resume(returning: $0) }
            }
            guard case .bytes(let bytes) = try result.get().content else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }

        func set(
            _ path: String, _ json: String, ifHash hash: String? = nil, as principal: RealtimePrincipal = .admin
        ) async throws {
            let target = try RealtimeTarget(path)
            try await write(
                .set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target), ifHash: hash), as: principal
            )
        }

        func write(_ write: RealtimeWrite, as principal: RealtimePrincipal = .admin) async throws {
            let database = try database()
            let result = await withCheckedContinuation { continuation in
                database.write(write, RealtimeWriteOptions(), as: principal, for: StoreServiceTests.client) {
                    continuation.resume(returning: $0)
                }
            }
            _ = try result.get()
        }

        func setRules(_ source: String, of name: String = "shop", isDryRun: Bool = false) async throws {
            let database = try database(name)
            let result = await withCheckedContinuation { continuation in
                database.setRules(Array(source.utf8), isDryRun: isDryRun) { continuation.resume(returning: $0) }
            }
            try result.get()
        }
    }

    /// Others keep theirs, and the host starts.
    @Test func damagedRulesDenyClientsTheirDatabaseAlone() async throws {
        let host = try Host()
        let open = #"{"rules":{".read":true}}"#
        for name in ["shop", "other"] { try await host.setRules(open, of: name) }
        try await host.set("a", "1")
        #expect(try await host.read("a", as: .client(nil)) == "1")
        try host.engine.write { storage in
            var found: [[UInt8]] = []
            try storage.scanKeys(.tree, .all, reverse: false) { key in
                let text = String(decoding: key, as: UTF8.self)
                if text.contains("rules"), text.contains("shop") { found.append(key) }
                return true
            }
            #expect(found.count == 1)
            for key in found { try storage.put(.tree, key, [9]) }
        }
        try await host.restart()
        await #expect(throws: RealtimeServiceError.self) { try await host.read("a", as: .client(nil)) }
        #expect(try await host.read("a") == "1")
        #expect(try host.database("other").rulesSource().source == Array(open.utf8))
        try await host.setRules(open)
        #expect(try await host.read("a", as: .client(nil)) == "1")
        await host.close()
    }

    /// The writer lets a decision cost little, and isn't kept by one that costs more.
    @Test func aDecisionBeyondItsCostIsNoRefusal() async throws {
        let host = try Host()
        let rules = try DatabaseRules(
            #"{"rules": {".write": true, ".read": true, "list": {"$k": {".validate": "newData.isNumber()"}}}}"#)
        let list = "[" + Array(repeating: "1", count: 100).joined(separator: ",") + "]"
        try await host.set("list", list)
        let path = try RealtimePath("list")
        let write = RealtimeWrite.set(RealtimeTarget(path), RealtimeWriteValue(RealtimeNode(1)), ifHash: "")
        func isDecided(within maxCost: Int?) async throws -> Bool {
            try await host.service.shared.store.read(in: "shop") { state -> Bool in
                do {
                    try RealtimeAccess.rules(rules).requireWrite(
                        write, as: .client(nil), before: state, after: state, now: 0, maxCost: maxCost, RulesObserver())
                    return true
                } catch is DecisionTooCostly {
                    return false
                }
            }
        }
        #expect(try await isDecided(within: nil))
        #expect(try await isDecided(within: 1_000_000))
        #expect(try await !isDecided(within: 1_000))
        await host.close()
    }

    /// The writer knows from the last decision whether it may make the next one.
    @Test func whatADecisionCostsIsNoted() async throws {
        let host = try Host()
        try await host.setRules(
            #"{"rules": {".write": true, "list": {"$k": {".validate": "newData.isNumber()"}}}}"#)
        let database = try #require(try host.database() as? StoreRealtimeDatabase)
        func costs(of json: String) async throws -> [Int] {
            let target = try RealtimeTarget("list")
            let request = database.commit(
                .set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target)), as: Self.ada)
            var costs = [request.checkCost()]
            for _ in 0..<2 {
                try await withCheckedContinuation { continuation in
                    database.store.check(request) { continuation.resume(returning: $0) }
                }.get()
                costs.append(request.checkCost())
            }
            return costs
        }
        let short = try await costs(of: "[1]")
        let long = try await costs(of: "[" + Array(repeating: "1", count: 1_000).joined(separator: ",") + "]")
        #expect(short[0] == 0 && short[1] > 0 && short[1] == short[2])
        #expect(long[1] > 20_000 && long[1] > 100 * short[1] && long[1] == long[2])
        await host.close()
    }

    /// What is in memory since an admin has read it is under rules like what is stored.
    @Test func clientsUnderRulesReadNothingFromMemory() async throws {
        let host = try Host()
        // Without rules, clients read what admins read.
        try await host.set("own/ada", "1")
        let principals: [RealtimePrincipal] = [.admin, .client(nil)]
        for principal in principals + principals { #expect(try await host.read("own/ada", as: principal) == "1") }
        #expect(host.service.shared.store.nodes.find(try RealtimePath("own/ada"), in: "shop").known != nil)
        try await host.setRules(Self.rules)
        for principal in principals + principals {
            switch principal {
            case .admin: #expect(try await host.read("own/ada") == "1")
            case .client:
                await #expect(throws: RealtimeServiceError.permissionDenied) {
                    try await host.read("own/ada", as: principal)
                }
            }
        }
        try await host.set("own/ada", "2")
        #expect(try await host.read("own/ada") == "2")
        await host.close()
    }

    /// Rules that look at no node are decided without reading; others are decided on the state that is read.
    @Test func clientsReadFromMemoryWhatRulesAllowWithoutData() async throws {
        let host = try Host()
        try await host.setRules(
            """
            {"rules": {
              "own": {"$uid": {".read": "$uid === auth.uid"}},
              "rooms": {"$room": {".read": "root.child('members').child(auth.uid).val() === $room"}}
            }}
            """)
        let database = try #require(try host.database() as? StoreRealtimeDatabase)
        func isDecidedAtOnce(_ path: String) throws -> Bool? {
            database.access.allowsReadAtOnce(of: try RealtimePath(path), as: Self.ada, now: 0, RulesObserver())
        }
        #expect(try isDecidedAtOnce("own/ada") == true)
        #expect(try isDecidedAtOnce("own/ben") == false)
        #expect(try isDecidedAtOnce("rooms/hall") == nil)
        func isKnown(_ path: String) throws -> Bool {
            host.service.shared.store.nodes.find(try RealtimePath(path), in: "shop").known != nil
        }
        for number in ["1", "2"] {
            try await host.set("own/ada", number)
            try await host.set("own/ben", number)
            for _ in 1...3 {
                #expect(try await host.read("own/ada", as: Self.ada) == number)
                await #expect(throws: RealtimeServiceError.permissionDenied) {
                    try await host.read("own/ben", as: Self.ada)
                }
            }
        }
        #expect(try isKnown("own/ada"))
        #expect(try !isKnown("own/ben"))
        try await host.set("rooms/hall", "1")
        for member in ["\"hall\"", "null", "\"hall\""] {
            try await host.set("members/ada", member)
            if member == "null" {
                await #expect(throws: RealtimeServiceError.permissionDenied) {
                    try await host.read("rooms/hall", as: Self.ada)
                }
            } else {
                #expect(try await host.read("rooms/hall", as: Self.ada) == "1")
            }
        }
        await host.close()
    }

    @Test func metricsNameWhatIsLargeSlowAndUnindexed() async throws {
        let host = try Host()
        try await host.setRules(Self.rules)
        try await host.set("open/scores/a", #"{"points":1,"name":"x"}"#)
        let ada = RealtimePrincipal.client(RealtimeAuth(uid: "ada", claims: [:]))
        #expect(!host.service.metricsText.contains("slowest_decision_seconds{"))
        try await host.set("own/ada", "1", as: ada)
        let events = Events()
        let listen = RealtimeListen(
            try RealtimePath("open"), form: .export)
        let listening = try host.database().listen(listen, as: .admin, for: Self.client, to: events)
        _ = await events.next()
        let query = try RealtimeQuery(message: try JSONValue(parsing: Array(#"{"i":"name"}"#.utf8)))
        let read = RealtimeRead(
            try RealtimePath("open/scores"), query: query, form: .value(.export), requiresIndex: false)
        let database = try host.database()
        _ = await withCheckedContinuation { continuation in
            database.read(read, as: .admin, for: Self.client) { continuation.resume(returning: $0) }
        }
        let text = host.service.metricsText
        let size = #"{"scores":{"a":{"name":"x","points":1}}}"#.utf8.count
        #expect(text.contains(#"functions_database_listen_bytes{database="shop",path="/open"} \#(size)"#))
        #expect(text.contains(#"functions_database_slowest_decision_seconds{database="shop",rule=".write at 3:50"} "#))
        #expect(text.contains(#"functions_database_unindexed_queries{database="shop"} 1"#))
        listening.cancel()
        #expect(!host.service.metricsText.contains("listen_bytes{"))
        try await host.setRules(Self.rules)
        #expect(!host.service.metricsText.contains("slowest_decision_seconds{"))
        await host.close()
    }

    private final class Events: RealtimeAPI.RealtimeListener {
        private let stream: AsyncStream<RealtimeListenEvent>
        private let continuation: AsyncStream<RealtimeListenEvent>.Continuation

        init() { (stream, continuation) = AsyncStream.makeStream() }

        func receive(_ event: RealtimeListenEvent) { continuation.yield(event) }

        func next() async -> RealtimeListenEvent? {
            var iterator = stream.makeAsyncIterator()
            return await iterator.next()
        }

        /// What the next event says, if it is a push of one value.
        func nextPut() async -> (path: String, node: RealtimeNode?)? {
            guard case .push(let push)? = await next(), case .put(let node) = push.change else { return nil }
            return (push.target.string, node)
        }
    }

    private static let ada = RealtimePrincipal.client(RealtimeAuth(uid: "ada", claims: [:]))

    @Test func rulesDecideOnReadsAndWrites() async throws {
        let host = try Host()
        try await host.setRules(Self.rules)
        try await host.set("own/ada", "1", as: Self.ada)
        #expect(try await host.read("own/ada", as: Self.ada) == "1")
        await #expect(throws: RealtimeServiceError.permissionDenied) { try await host.read("own", as: Self.ada) }
        await #expect(throws: RealtimeServiceError.permissionDenied) {
            try await host.set("own/ken", "1", as: Self.ada)
        }
        await #expect(throws: RealtimeServiceError.permissionDenied) {
            try await host.read("own/ada", as: .client(nil))
        }
        // Whether a condition holds tells what is there.
        await #expect(throws: RealtimeServiceError.permissionDenied) {
            try await host.set("dropbox", "2", ifHash: "", as: Self.ada)
        }
        await #expect(throws: RealtimeServiceError.stale) {
            try await host.set("own/ada", "2", ifHash: "", as: Self.ada)
        }
        await host.close()
    }

    @Test func withoutRulesDevelopmentIsOpenAndProductionClosed() async throws {
        let open = try Host()
        try await open.set("a", "1", as: .client(nil))
        await open.close()
        let closed = try Host(isDevelopment: false)
        try await closed.service.shared.store.declare(["shop"])
        await #expect(throws: RealtimeServiceError.permissionDenied) { try await closed.read("a", as: Self.ada) }
        #expect(throws: RealtimeServiceError.unknownDatabase("other")) { try closed.database("other") }
        await closed.close()
    }

    @Test func aWriteAnswersWhatThereIsAlsoIfNothingChanges() async throws {
        let host = try Host()
        let database = try host.database()
        func write(_ json: String) async throws -> RealtimeWritten {
            let update = try RealtimeUpdate(parsing: Array(json.utf8), at: try RealtimePath("a"))
            var options = RealtimeWriteOptions()
            options.wantsChanges = true
            let chosen = options
            let result = await withCheckedContinuation { continuation in
                database.write(.update(update), chosen, as: .admin, for: StoreServiceTests.client) {
                    continuation.resume(returning: $0)
                }
            }
            return try result.get()
        }
        for _ in 0..<2 {
            let written = try await write(#"{"b":1,"c":{"d":true}}"#)
            #expect(Set(written.changes.map(\.target.string)) == ["a/b", "a/c"])
            #expect(written.changes.allSatisfy { $0.node != nil })
        }
        let one = try await write(#"{"b":1,"c":2}"#)
        let unchanged = one.changes.first { $0.target.string == "a/b" }
        #expect(unchanged?.node == RealtimeNode(.number(RealtimeNumber(Int64(1)))))
        await host.close()
    }

    @Test func eachChangeReachesEachListenerOnce() async throws {
        let host = try Host()
        let database = try host.database()
        let listeners = [Events(), Events()]
        let listens = try listeners.map {
            database.listen(
                RealtimeListen(try RealtimePath("a"), form: .export), as: .admin, for: StoreServiceTests.client, to: $0)
        }
        for listener in listeners {
            guard case .began? = await listener.next() else {
                Issue.record("the listen didn't begin")
                return
            }
        }
        for value in 0..<200 {
            try await host.set("a/b", "\(value)")
            for listener in listeners {
                let put = await listener.nextPut()
                #expect(put?.path == "a/b")
                #expect(put?.node == RealtimeNode(.number(RealtimeNumber(Int64(value)))))
            }
        }
        for listen in listens { listen.cancel() }
        await host.close()
    }

    /// A listener whose pushes go where the answers go.
    private final class Pushes: RealtimeAPI.RealtimeListener {
        private let received: @Sendable (String) -> Void

        init(_ received: @escaping @Sendable (String) -> Void) { self.received = received }

        func receive(_ event: RealtimeListenEvent) {
            if case .push(let push) = event { received("change of \(push.target.string)") } else { received("began") }
        }
    }

    /// The writer itself answers a client that has no listens.
    @Test(.endsHangs) func aClientReceivesItsOwnChangesBeforeTheirAnswers() async throws {
        let host = try Host()
        let database = try host.database()
        let client = RealtimeClient(address: 1)
        let (events, continuation) = AsyncStream.makeStream(of: String.self)
        var iterator = events.makeAsyncIterator()
        let listen = database.listen(
            RealtimeListen(.root, form: .export), as: Self.ada, for: client,
            to: Pushes { continuation.yield($0) })
        #expect(await iterator.next() == "began")
        for number in 0..<200 {
            let target = try RealtimeTarget("a\(number)")
            let write = RealtimeWrite.set(
                target, try RealtimeWriteValue(parsing: Array("1".utf8), at: target), ifHash: nil)
            database.write(write, RealtimeWriteOptions(), as: Self.ada, for: client) { _ in
                continuation.yield("answer to \(number)")
            }
        }
        var seen: [String] = []
        while seen.count < 400, let event = await iterator.next() { seen.append(event) }
        for number in 0..<200 {
            let change = try #require(seen.firstIndex(of: "change of a\(number)"))
            #expect(change < (try #require(seen.firstIndex(of: "answer to \(number)"))))
        }
        listen.cancel()
        await host.close()
    }

    @Test func newRulesEndListensThatTheyDoNotAllow() async throws {
        let host = try Host()
        try await host.setRules(Self.rules)
        let database = try host.database()
        let (allowed, denied) = (Events(), Events())
        let listens = [
            database.listen(
                RealtimeListen(try RealtimePath("own/ada"), form: .export), as: Self.ada, for: StoreServiceTests.client,
                to: allowed),
            database.listen(
                RealtimeListen(try RealtimePath("open"), form: .export), as: Self.ada, for: StoreServiceTests.client,
                to: denied),
        ]
        for listener in [allowed, denied] {
            guard case .began? = await listener.next() else {
                Issue.record("the listen didn't begin")
                return
            }
        }
        // Refused rules change nothing.
        let wrong = RealtimeServiceError.rules(
            RealtimeRulesProblem(line: 1, column: 22, message: "Unknown variable 'tr'."))
        await #expect(throws: wrong) { try await host.setRules(#"{"rules": {".read": "tr"}}"#) }
        try await host.setRules(#"{"rules": {".read": false}}"#, isDryRun: true)
        try await host.setRules(Self.rules.replacing("\"open\": {\".read\": true", with: "\"open\": {\".read\": false"))
        guard case .ended(.permissionDenied)? = await denied.next() else {
            Issue.record("the listen goes on")
            return
        }
        try await host.set("own/ada", "5")
        #expect(await allowed.nextPut()?.node == RealtimeNode(.number(RealtimeNumber(Int64(5)))))
        for listen in listens { listen.cancel() }
        await host.close()
    }

    @Test func uploadedRulesAreThoseOfTheirDatabaseAlsoAfterARestart() async throws {
        let host = try Host()
        host.service.serve(try DatabaseRules(#"{"rules": {".read": false}}"#))
        try await host.setRules(Self.rules)
        try await host.restart()
        host.service.serve(try DatabaseRules(#"{"rules": {".read": false}}"#))
        #expect(try await host.read("open", as: .client(nil)) == "null")
        let source = try host.database().rulesSource()
        #expect(source.source == Array(Self.rules.utf8))
        #expect(String(decoding: try host.database("other").rulesSource().json, as: UTF8.self).contains("false"))
        await host.close()
    }

    /// The stored indexes are those of the rules that come after the start; without rules they go.
    @Test(.endsHangs) func indexesStayReadyThroughARestart() async throws {
        let host = try Host()
        let rules = try DatabaseRules(Self.rules)
        host.service.serve(rules)
        try await host.set("open/scores", #"{"a":{"points":1}}"#)
        try await host.service.shared.store.settle()
        let ready = try await host.service.shared.store.indexes(in: "shop")
        #expect(ready.map(\.isReady) == [true])
        try await host.restart()
        #expect(try await host.service.shared.store.indexes(in: "shop") == ready)
        host.service.serve(rules)
        #expect(try await host.service.shared.store.indexes(in: "shop") == ready)
        host.service.serve(nil)
        #expect(try await host.service.shared.store.indexes(in: "shop").isEmpty)
        await host.close()
    }

    /// Nothing else of the database is kept: it has no data, and functions.json doesn't name it.
    @Test func uploadedRulesAndSettingsOfADatabaseWithoutDataStayThroughARestart() async throws {
        let host = try Host()
        let rules = #"{"rules": {".read": false}}"#
        try await host.setRules(rules, of: "empty")
        let database = try host.database("set")
        try await withCheckedContinuation { continuation in
            database.setSetting("defaultWriteSizeLimit", Array(#""tiny""#.utf8)) { continuation.resume(returning: $0) }
        }.get()
        try await host.restart()
        #expect(try host.service.databaseNames() == ["empty", "set", "shop"])
        #expect(try host.database("empty").rulesSource().source == Array(rules.utf8))
        #expect(try host.database("set").setting("defaultWriteSizeLimit") == Array(#""tiny""#.utf8))
        await host.close()
    }

    @Test func whatClientsRegisteredHappensAfterARestartToo() async throws {
        let host = try Host()
        try await host.setRules(Self.rules)
        func register(_ path: String, _ json: String) async throws {
            let target = try RealtimeTarget(path)
            let write = RealtimeWrite.set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target))
            let database = try host.database()
            let result = await withCheckedContinuation { continuation in
                database.onDisconnect(.write(write), session: "s1", as: Self.ada, for: StoreServiceTests.client) {
                    continuation.resume(returning: $0)
                }
            }
            try result.get()
        }
        try await register("own/ada/online", "false")
        try await register("own/ada/times", #"{".sv":{"increment":1}}"#)
        await #expect(throws: RealtimeServiceError.permissionDenied) { try await register("own/ken", "1") }
        try await host.restart()
        // The client may still come back.
        let former = try await host.service.formerSessions()
        #expect(former.map(\.session) == ["s1"])
        #expect(try await host.read("own/ada") == "null")
        for _ in 0..<2 { for session in former { await host.service.end(session) } }
        #expect(try await host.read("own/ada") == #"{"online":false,"times":1}"#)
        await host.close()
    }

    /// The host stops while the first one ends, and doesn't wait for the others.
    @Test(.endsHangs) func formerSessionsThatAreLeftStayRegistered() async throws {
        let host = try Host()
        let sessions = ["s1", "s2"].map { RealtimeDisconnectSession(namespace: "shop", session: $0) }
        for session in sessions {
            let (database, target) = (try host.database(), try RealtimeTarget(session.session))
            let write = RealtimeWrite.set(target, RealtimeWriteValue(RealtimeNode(1)))
            let result = await withCheckedContinuation { continuation in
                database.onDisconnect(
                    .write(write), session: session.session, as: .admin, for: StoreServiceTests.client
                ) { continuation.resume(returning: $0) }
            }
            try result.get()
        }
        let gate = try host.holdWriter()
        let ending = Task { await host.service.end(sessions) }
        ending.cancel()
        gate.signal()
        await ending.value
        #expect(try await host.service.formerSessions().contains(sessions[1]))
        #expect(try await host.read("s2") == "null")
        await host.service.end(sessions)
        #expect(try await host.service.formerSessions() == [])
        #expect(try await host.read("s2") == "1")
        await host.close()
    }

    /// Neither the writer nor the disk has work for it, and it waits for no other value.
    @Test(.endsHangs) func aLargeValueThatNoRuleAllowsIsNotStored() async throws {
        let host = try Host()
        try await host.setRules(Self.rules)
        let gate = try host.holdWriter()
        let many = "[" + Array(repeating: "1", count: 20_001).joined(separator: ",") + "]"
        for path in ["other", "own"] {
            await #expect(throws: RealtimeServiceError.permissionDenied) {
                try await host.set(path, many, as: Self.ada)
            }
            let (database, place) = (try host.database(), try RealtimePath(path))
            #expect(throws: RealtimeServiceError.permissionDenied) {
                _ = try many.utf8.withContiguousStorageIfAvailable { bytes in
                    try database.stage(
                        UnsafeRawBufferPointer(bytes), at: place, as: Self.ada, for: Self.client
                    ) { _ in true }
                }
            }
        }
        gate.signal()
        try await host.set("dropbox", many, as: Self.ada)
        #expect(try await host.read("dropbox/20000") == "1")
        await host.close()
    }

    /// What rules know without the value decides before anything of it is stored.
    @Test(.endsHangs) func aLargeValueOfAClientWithoutRightsIsNotStored() async throws {
        let host = try Host()
        try await host.setRules(
            #"""
            {"rules": {
              "user": {".write": "auth != null && newData.hasChildren()"},
              "rooms": {"$room": {".write": "root.child('members').child($room).hasChild(auth.uid)"}},
              "members": {"$room": {"$uid": {".write": "$uid === auth.uid"}}}}}
            """#)
        let many = "[" + Array(repeating: "1", count: 20_001).joined(separator: ",") + "]"
        let database = try host.database()
        func stage(_ path: String, as principal: RealtimePrincipal) throws {
            let place = try RealtimePath(path)
            _ = try many.utf8.withContiguousStorageIfAvailable { bytes in
                try database.stage(UnsafeRawBufferPointer(bytes), at: place, as: principal, for: Self.client) { _ in
                    Issue.record("a part of it is stored")
                    return true
                }
            }
        }
        // Neither needs the writer.
        let gate = try host.holdWriter()
        await #expect(throws: RealtimeServiceError.permissionDenied) {
            try await host.set("user", many, as: .client(nil))
        }
        for (path, principal) in [("user", .client(nil)), ("rooms/a", Self.ada)] as [(String, RealtimePrincipal)] {
            #expect(throws: RealtimeServiceError.permissionDenied) { try stage(path, as: principal) }
        }
        gate.signal()
        // What was held up may have made the database's tree.
        try await host.set("other", "1")
        let trees = try host.nextTree()
        await #expect(throws: RealtimeServiceError.permissionDenied) {
            try await host.set("rooms/a", many, as: Self.ada)
        }
        #expect(try host.nextTree() == trees)
        try await host.set("user", many, as: Self.ada)
        #expect(try host.nextTree() != trees)
        await host.close()
    }

    /// It is decided as if the client's earlier writes had been answered.
    @Test(.endsHangs) func aLargeValueMayBeAllowedByTheWriteBeforeIt() async throws {
        let host = try Host()
        try await host.setRules(
            #"{"rules": {"a": {".write": "!data.exists()"}, "b": {".write": "root.child('a').val() === 1"}}}"#)
        let (database, client) = (try host.database(), RealtimeClient(address: 1))
        let many = "[" + Array(repeating: "1", count: 20_001).joined(separator: ",") + "]"
        let (results, continuation) = AsyncStream<Bool>.makeStream()
        let gate = try host.holdWriter()
        for (path, json) in [("b", many), ("a", "1"), ("b", many), ("a", many)] {
            let target = try RealtimeTarget(path)
            let write = RealtimeWrite.set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target))
            database.write(write, RealtimeWriteOptions(), as: Self.ada, for: client) { result in
                continuation.yield((try? result.get()) != nil)
            }
        }
        gate.signal()
        var seen: [Bool] = []
        for await result in results {
            seen.append(result)
            if seen.count == 4 { break }
        }
        #expect(seen == [false, true, true, false])
        #expect(try await host.read("b/20000") == "1")
        #expect(try await host.read("a") == "1")
        await host.close()
    }

    /// Hashing what is below the children takes as long as that is large: short reads don't wait for it.
    @Test(.endsHangs) func aShallowReadWithAHashIsNoShortRead() async throws {
        let host = try Host()
        try await host.set("open", #"{"a":{"x":1},"b":2}"#)
        let (gate, threads) = (DispatchSemaphore(value: 0), CommitConfiguration().readerThreads)
        for _ in 0..<threads {
            host.service.shared.store.read(in: "shop") { _ in
                gate.wait()
            } completion: { _ in
            }
        }
        var read = RealtimeRead(try RealtimePath("open"), form: .shallow)
        read.wantsHash = true
        let (database, request) = (try host.database(), read)
        let result = await withCheckedContinuation { continuation in
            database.read(request, as: .admin, for: Self.client) { continuation.resume(returning: $0) }
        }
        for _ in 0..<threads { gate.signal() }
        let reading = try result.get()
        #expect(reading.content.bytesInMemory == #"{"a":true,"b":true}"#.utf8.count)
        #expect(reading.hash?.isEmpty == false)
        await host.close()
    }

    /// They are stored exactly, and REST's clients may have read them exactly. Those with doubles have another hash.
    @Test(arguments: ["%", #"{"n":%}"#]) func conditionsTellLargeIntegersApart(value: String) async throws {
        let host = try Host()
        func set(_ number: Int64, ifHash hash: String? = nil) async throws {
            try await host.set("a", value.replacing("%", with: "\(number)"), ifHash: hash)
        }
        func hash() async throws -> String? {
            let read = RealtimeRead(try RealtimePath("a"), form: .value(.export), wantsHash: true)
            let database = try host.database()
            let result = await withCheckedContinuation { continuation in
                database.read(read, as: .admin, for: Self.client) { continuation.resume(returning: $0) }
            }
            return try result.get().hash
        }
        let number: Int64 = 9_007_199_254_740_992
        try await set(number)
        let old = try await hash()
        try await set(number + 1)
        let new = try await hash()
        #expect(old != nil && new != nil && old != new)
        await #expect(throws: RealtimeServiceError.stale) { try await set(1, ifHash: old) }
        try await set(number, ifHash: new)
        #expect(try await hash() == old)
        let text = Array(value.replacing("%", with: "\(number)").utf8)
        let node = try RealtimeWriteValue(parsing: text, at: RealtimeTarget(.root)).resolved(now: 0, existing: nil)
        try await set(number + 1, ifHash: node.hash)
        #expect(try await hash() == new)
        await host.close()
    }

    @Test func aQueryWithoutIndexIsRefusedWithTheLineToAdd() async throws {
        let host = try Host()
        try await host.setRules(Self.rules)
        let database = try host.database()
        func read(_ path: String, by child: String) async throws -> Result<RealtimeReading, RealtimeServiceError> {
            let query = RealtimeQuery(index: .child(try RealtimePath(child)), limit: .first(1))
            let read = RealtimeRead(try RealtimePath(path), query: query, form: .value(.export))
            return await withCheckedContinuation { continuation in
                database.read(read, as: Self.ada, for: StoreServiceTests.client) { continuation.resume(returning: $0) }
            }
        }
        await #expect(
            throws: RealtimeServiceError.query(
                .indexNotDefined(index: "name", path: try RealtimePath("open/scores")))
        ) { try await read("open/scores", by: "name").get() }
        #expect(
            host.service.missingIndexes(of: "shop") == [
                #"Index not defined, add ".indexOn": "name", for path "/open/scores", to the rules"#
            ])
        // The rules come first.
        await #expect(throws: RealtimeServiceError.permissionDenied) { try await read("own", by: "name").get() }
        await host.close()
    }

    /// By REST. Clients that read through the SDKs' protocols get null.
    @Test func aQueryThatFindsNoneOfTheChildrenIsAnEmptyObject() async throws {
        let host = try Host()
        try await host.set("open/scores", #"{"a":1,"b":2}"#)
        try await host.set("open/leaf", "1")
        let database = try host.database()
        func read(_ path: String, from key: String?, showsEmptyResult: Bool = true) async throws -> String {
            var query = RealtimeQuery(index: .key)
            query.start = try key.map {
                RealtimeQuery.Bound(value: nil, key: .key(try RealtimeKey($0)), isInclusive: true)
            }
            var read = RealtimeRead(try RealtimePath(path), query: query, form: .value(.plain))
            read.showsEmptyResult = showsEmptyResult
            let asked = read
            let result = await withCheckedContinuation { continuation in
                database.read(asked, as: .admin, for: Self.client) { continuation.resume(returning: $0) }
            }
            guard case .bytes(let bytes) = try result.get().content else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(try await read("open/scores", from: "b") == #"{"b":2}"#)
        #expect(try await read("open/scores", from: "c") == "{}")
        #expect(try await read("open/scores", from: "c", showsEmptyResult: false) == "null")
        for path in ["open/nothing", "open/leaf"] { #expect(try await read(path, from: "c") == "null") }
        #expect(try await read("open/nothing", from: nil) == "null")
        await host.close()
    }

    /// It looks at all children until the index is there.
    @Test(.endsHangs) func aQueryIsAnsweredWhileItsIndexIsBuilt() async throws {
        let host = try Host()
        try await host.set("open/scores", #"{"a":{"points":2},"b":{"points":1}}"#)
        let gate = try host.holdWriter()
        defer { gate.signal() }
        host.service.serve(try DatabaseRules(Self.rules))
        let (database, path) = (try host.database(), try RealtimePath("open/scores"))
        func query(by child: String) throws -> RealtimeQuery {
            RealtimeQuery(index: .child(try RealtimePath(child)), limit: .first(1))
        }
        func read(by child: String) async throws -> String {
            let read = RealtimeRead(path, query: try query(by: child), form: .value(.export))
            let result = await withCheckedContinuation { continuation in
                database.read(read, as: Self.ada, for: Self.client) { continuation.resume(returning: $0) }
            }
            guard case .bytes(let bytes) = try result.get().content else { return "" }
            return String(decoding: bytes, as: UTF8.self)
        }
        #expect(try await read(by: "points") == #"{"b":{"points":1}}"#)
        let events = Events()
        let listen = RealtimeListen(path, query: try query(by: "points"), form: .export, requiresIndex: true)
        let listening = database.listen(listen, as: Self.ada, for: Self.client, to: events)
        guard case .began(let start)? = await events.next() else {
            Issue.record("the listen didn't begin")
            return
        }
        #expect(start.isIndexed)
        listening.cancel()
        #expect(host.service.missingIndexes(of: "shop").isEmpty)
        // Other indexes are missing as before.
        await #expect(throws: RealtimeServiceError.query(.indexNotDefined(index: "name", path: path))) {
            try await read(by: "name")
        }
        gate.signal()
        try await host.service.shared.store.settle()
        #expect(try await host.service.shared.store.indexes(in: "shop").map(\.isReady) == [true])
        #expect(try await read(by: "points") == #"{"b":{"points":1}}"#)
        await host.close()
    }

    /// An increment and an ETag tell what there was.
    @Test func aWriteTellsNothingToThoseWhoMayNotRead() async throws {
        let host = try Host()
        try await host.setRules(Self.rules)
        try await host.set("dropbox", "41")
        let database = try host.database()
        func write(_ json: String, to path: String) async throws -> RealtimeWritten {
            let target = try RealtimeTarget(path)
            let write = RealtimeWrite.set(target, try RealtimeWriteValue(parsing: Array(json.utf8), at: target))
            var options = RealtimeWriteOptions()
            options.wantsChanges = true
            options.wantsHash = true
            let chosen = options
            return try await withCheckedContinuation { continuation in
                database.write(write, chosen, as: Self.ada, for: Self.client) { continuation.resume(returning: $0) }
            }.get()
        }
        let hidden = try await write(#"{".sv":{"increment":1}}"#, to: "dropbox")
        #expect(hidden.changes.isEmpty && hidden.hash == nil)
        #expect(try await host.read("dropbox") == "42")
        let own = try await write(#"{".sv":{"increment":1}}"#, to: "own/ada")
        #expect(own.changes.first?.node == RealtimeNode(1))
        #expect(own.hash == RealtimeNode(1).hash)
        #expect(try await write("7", to: "dropbox").hash == RealtimeNode(7).hash)
        #expect(try await write("null", to: "dropbox").hash == "")
        await host.close()
    }

    /// Each write is allowed only because of the one before it, or is refused because of it.
    @Test func writesOfOneClientAreDecidedInTheirOrder() async throws {
        let host = try Host()
        try await host.setRules(
            #"{"rules": {"chain": {".read": true, "$n": {".write": "newData.val() === 0 || data.parent().child(newData.val() + '').exists()"}}}}"#
        )
        let database = try host.database()
        for round in 0..<20 {
            let client = RealtimeClient(address: 1)
            let (results, continuation) = AsyncStream<Bool>.makeStream()
            // 0 needs nothing, 1 needs 0, 2 needs 1…; every fourth one needs what was never written.
            for number in 0..<40 {
                let isWrong = number % 4 == 3
                let target = try RealtimeTarget("chain/\(isWrong ? "x" : "")\(round * 100 + number - number / 4)")
                let needed = isWrong ? 99_999 : number == 0 ? 0 : round * 100 + number - number / 4 - 1
                let json = Array("\(needed)".utf8)
                let write = RealtimeWrite.set(target, try RealtimeWriteValue(parsing: json, at: target))
                database.write(write, RealtimeWriteOptions(), as: Self.ada, for: client) { result in
                    continuation.yield((try? result.get()) != nil)
                }
            }
            var seen: [Bool] = []
            for await result in results {
                seen.append(result)
                if seen.count == 40 { break }
            }
            #expect(seen == (0..<40).map { $0 % 4 != 3 })
        }
        await host.close()
    }

    @Test func largeValuesWaitInAFileForTheirClients() async throws {
        let host = try Host()
        let text = String(repeating: "é🛒鍵x", count: 60_000)
        for key in ["a", "b", "c"] { try await host.set("large/\(key)", "\"\(text)\"") }
        let database = try host.database()
        let read = RealtimeRead(try RealtimePath("large"), form: .value(.export))
        let result = await withCheckedContinuation { continuation in
            database.read(read, as: Self.ada, for: Self.client) { continuation.resume(returning: $0) }
        }
        guard case .stream(let stream, let units?) = try result.get().content else {
            Issue.record("the value is in memory")
            return
        }
        // Later changes aren't seen.
        try await host.set("large/a", "1")
        let expected = #"{"a":"\#(text)","b":"\#(text)","c":"\#(text)"}"#
        var received = ""
        while let piece = try await Self.next(stream) {
            received += try #require(String(validating: piece, as: UTF8.self))
        }
        #expect(received == expected)
        #expect(units == expected.utf16.count)
        await host.close()
    }

    /// A mobile client that comes back is sent what it lacks, and not all that it has.
    @Test(.endsHangs) func largeRangesWaitInAFileForTheirClient() async throws {
        let host = try Host()
        let text = String(repeating: "x", count: 600_000)
        try await host.set("large", #"{"a":1,"b":"\#(text)"}"#)
        let compound = try #require(
            RealtimeCompoundHash(hashes: ["other", ""], paths: [try RealtimeTarget("a")]))
        let events = Events()
        let listen = RealtimeListen(
            try RealtimePath("large"), known: RealtimeListen.Known(hash: "other", compound: compound), form: .export,
            countsUnits: true)
        let listening = try host.database().listen(
            listen, as: .admin, for: RealtimeClient(address: 1), to: events)
        guard case .began(let start)? = await events.next(), case .ranges(.stream(let stream, let units?)) = start.data
        else {
            Issue.record("the ranges don't wait in a file")
            return
        }
        let expected = #"[{"e":"a","m":{"a":1}},{"s":"a","m":{"b":"\#(text)"}}]"#
        var received = ""
        while let piece = try await Self.next(stream) { received += String(decoding: piece, as: UTF8.self) }
        #expect(received == expected)
        #expect(units == expected.utf16.count)
        listening.cancel()
        await host.close()
    }

    private static func next(_ stream: any RealtimeContentStream) async throws -> [UInt8]? {
        try await withCheckedContinuation { continuation in stream.next { continuation.resume(returning: $0) } }.get()
    }

    @Test func theSizeOfWritesIsASettingThatAWriteMayReplace() async throws {
        let host = try Host()
        func set(_ json: String) async throws {
            let database = try host.database()
            try await withCheckedContinuation { continuation in
                database.setSetting("defaultWriteSizeLimit", Array(json.utf8)) { continuation.resume(returning: $0) }
            }.get()
        }
        #expect(try host.database().setting("defaultWriteSizeLimit") == Array(#""large""#.utf8))
        #expect(try host.database().setting("other") == nil)
        try await set(#""tiny""#)
        await #expect(throws: RealtimeServiceError.self) { try await set(#""huge""#) }
        try await host.restart()
        #expect(try host.database().setting("defaultWriteSizeLimit") == Array(#""tiny""#.utf8))
        let many = "{" + (0..<100_001).map { "\"\($0)\":1" }.joined(separator: ",") + "}"
        await #expect(throws: RealtimeServiceError.writeTooSlow) { try await host.set("many", many) }
        #expect(try await host.read("many") == "null")
        try await set(#""unlimited""#)
        try await host.set("many", many)
        #expect(try await host.read("many/100000") == "1")
        await host.close()
    }

    /// Others' writes wait while the writer makes one.
    @Test func updatesOfManyNodesAreRefusedWithTheLimit() async throws {
        let host = try Host()
        func update(_ count: Int) throws -> RealtimeWrite {
            let leaves = Array(repeating: "1", count: count - 2).joined(separator: ",")
            return .update(
                try RealtimeUpdate(
                    parsing: Array("{\"a\": [\(leaves)], \"b\": 1}".utf8), at: try RealtimePath("many")))
        }
        let ada = Self.ada
        await #expect(throws: RealtimeServiceError.updateTooLarge(nodes: 100_000)) {
            try await host.write(try update(100_001), as: ada)
        }
        #expect(try await host.read("many") == "null")
        try await host.write(try update(100_000), as: ada)
        try await host.write(try update(100_001))
        #expect(try await host.read("many/a/99998") == "1")
        let (database, large) = (try host.database(), try update(20_001))
        let registered = await withCheckedContinuation { continuation in
            database.onDisconnect(.write(large), session: "s1", as: .admin, for: Self.client) {
                continuation.resume(returning: $0)
            }
        }
        #expect(throws: RealtimeServiceError.updateTooLarge(nodes: 20_000)) { try registered.get() }
        await host.close()
    }

    @Test(.endsHangs) func whatCannotBeDoneAtASessionsEndIsTriedAgain() async throws {
        let sessions = UnfinishedSessions(pause: .milliseconds(1))
        let ended = Mutex<[String]>([])
        let (done, continuation) = AsyncStream<Void>.makeStream()
        sessions.setEnd { session in
            let count = ended.withLock { ended in
                ended.append(session.session)
                return ended.count
            }
            if count < 3 { sessions.add(session) } else { continuation.finish() }
        }
        sessions.add(RealtimeDisconnectSession(namespace: "n", session: "s"))
        for await _ in done {}
        #expect(ended.withLock { $0 } == ["s", "s", "s"])
    }
}
