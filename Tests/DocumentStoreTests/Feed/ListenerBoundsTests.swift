@testable import CommitPipeline
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

/// What listeners may take of memory and of the thread that all share.
struct ListenerBoundsTests {
    private struct Everything: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {}
    }

    /// A clock on which 10 ms pass each time it is read.
    private static func tickingClock() -> @Sendable () -> Duration {
        let passed = Mutex<Duration>(.zero)
        return {
            passed.withLock { passed in
                passed += .milliseconds(10)
                return passed
            }
        }
    }

    @Test func aClientHasItsShareOfListeners() async throws {
        var configuration = TestStore.configuration
        configuration.maxListenersPerClient = 2
        try await withStore(configuration: configuration) { test in
            let target = ListenTarget.query(Query(collectionID: "c"))
            let client = OperationContext(owner: 1, policy: Everything())
            let first = try test.store.listen(to: target, in: client)
            let second = try test.store.listen(to: target, in: client)
            let error = await refusal { _ = try test.store.listen(to: target, in: client) }
            #expect(error?.code == .resourceExhausted)
            #expect(error?.message.contains("2 listeners") == true)
            // Each client has its own bound, and functions don't count as clients.
            let others = try [
                OperationContext(owner: 2, policy: Everything()), OperationContext(owner: 1),
                OperationContext(owner: 1),
            ].map { try test.store.listen(to: target, in: $0) }
            for listener in [first, second] + others { listener.cancel() }
            #expect(throws: Never.self) { try test.store.listen(to: target, in: client) }
        }
    }

    @Test func theListenerWithMostUnreadStartsOverWhereAllTogetherHoldTooMuch() async throws {
        var configuration = TestStore.configuration
        configuration.maxUnreadBytes = 20_000
        try await withStore(configuration: configuration) { test in
            let quiet = try test.store.listen(to: .query(Query(collectionID: "quiet")))
            let slow = try test.store.listen(to: .query(Query(collectionID: "c")))
            var n: Int64 = 0
            while test.store.listeners.count > 1 {
                n += 1
                try await test.set("c/d", ["s": .string(String(repeating: "x", count: 2000)), "n": .integer(n)])
            }
            guard case .startOver(let reason)? = try await slow.next() else { throw DocumentError(.unknown, "") }
            #expect(reason.contains("all listeners"))
            guard case .initial? = try await quiet.next() else { throw DocumentError(.unknown, "") }
            // What was dropped and what was read no longer counts.
            let again = try test.store.listen(to: .query(Query(collectionID: "c")))
            guard case .initial? = try await again.next() else { throw DocumentError(.unknown, "") }
            for n in 0..<50 {
                let fields = ["s": Value.string(String(repeating: "y", count: 2000)), "n": .integer(Int64(n))]
                let time = try await test.set("c/d", fields).commitTime
                guard case .changes(_, at: time)? = try await again.next() else { throw DocumentError(.unknown, "") }
            }
        }
    }

    private func event(_ listener: DocumentListener) async throws -> ListenEvent {
        guard let event = try await listener.next() else { throw DocumentError(.unknown, "it has ended") }
        return event
    }

    /// A query is in memory as long as its listener, whatever it finds.
    @Test func targetsHaveABoundPerClientAndInAll() async throws {
        var configuration = TestStore.configuration
        configuration.maxTargetBytes = 100_000
        configuration.maxTargetBytesPerClient = 60_000
        try await withStore(configuration: configuration) { test in
            var query = Query(collectionID: "c")
            query.projection = try (0..<200).map { try FieldPath("f\($0)") }
            let documents = Set(try (0..<100).map { try DocumentPath("c/d\($0)") })
            func listen(to target: ListenTarget, _ owner: UInt64?) throws -> DocumentListener {
                let policy: (any AccessPolicy)? = owner == nil ? nil : Everything()
                return try test.store.listen(to: target, in: OperationContext(owner: owner, policy: policy))
            }
            let first = try listen(to: .query(query), 1)
            for target in [ListenTarget.query(query), .documents(documents)] {
                let own = await refusal { _ = try listen(to: target, 1) }
                #expect(own?.code == .resourceExhausted && own?.message.contains("a client") == true)
            }
            // Short ones have room, and other clients and functions have the rest.
            let short = try listen(to: .query(Query(collectionID: "c")), 1)
            let second = try listen(to: .query(query), 2)
            let all = await refusal { _ = try listen(to: .query(query), nil) }
            #expect(all?.code == .unavailable && all?.message.contains("the limit") == true)
            #expect(test.store.listeners.count == 3)
            // What has ended counts no more, once its first read and the listeners' thread have let go of it.
            for listener in [first, short, second] { listener.cancel() }
            while test.store.listeners.targets.total > 0 { await Task.yield() }
            let third = try listen(to: .query(query), nil)
            guard case .initial? = try? await event(third) else { throw DocumentError(.unknown, "") }
        }
    }

    @Test func windowsHaveABoundPerClientAndInAll() async throws {
        var configuration = TestStore.configuration
        configuration.maxWindowBytes = 10_000
        configuration.maxWindowBytesPerClient = 5_000
        try await withStore(configuration: configuration) { test in
            for n in 0..<6 { try await test.set("c/d\(n)", ["s": .string(String(repeating: "x", count: 1700))]) }
            func listen(_ limit: Int, _ owner: UInt64?) throws -> DocumentListener {
                var query = Query(collectionID: "c")
                query.limit = limit
                let policy: (any AccessPolicy)? = owner == nil ? nil : Everything()
                return try test.store.listen(
                    to: .query(query), in: OperationContext(owner: owner, policy: policy))
            }
            func refused(_ listener: DocumentListener) async -> DocumentError? {
                await refusal { _ = try await event(listener) }
            }
            let first = try listen(2, 1)
            guard case .initial? = try? await event(first) else { throw DocumentError(.unknown, "") }
            let own = await refused(try listen(1, 1))
            #expect(own?.code == .resourceExhausted && own?.message.contains("a client") == true)
            // Functions and other clients have the rest.
            let second = try listen(2, 2)
            guard case .initial? = try? await event(second) else { throw DocumentError(.unknown, "") }
            let all = await refused(try listen(2, nil))
            #expect(all?.code == .unavailable && all?.message.contains("the limit") == true)
            let third = try listen(1, nil)
            guard case .initial? = try? await event(third) else { throw DocumentError(.unknown, "") }
            // What has ended counts no more.
            second.cancel()
            let fourth = try listen(2, nil)
            guard case .initial? = try? await event(fourth) else { throw DocumentError(.unknown, "") }
        }
    }

    /// Nulls are stored as a byte each, and a client can write and listen to a million of them in one document.
    @Test func smallValuesCountByTheMemoryThatTheyTake() async throws {
        let memory = 10_000 * MemoryLayout<Value>.stride
        var configuration = TestStore.configuration
        configuration.maxWindowBytesPerClient = memory
        try await withStore(configuration: configuration) { test in
            try await test.set("c/d", ["a": .array(Array(repeating: .null, count: 10_000))])
            let document = try #require(try await test.get("c/d"))
            #expect(ListenEvent.initial([document], at: document.updateTime).size > memory)
            let change = ListenChange.modified(document)
            #expect(ListenEvent.changes([change], at: document.updateTime).size > memory)
            var query = Query(collectionID: "c")
            query.limit = 1
            let client = OperationContext(owner: 1, policy: Everything())
            let listener = try test.store.listen(to: .query(query), in: client)
            let error = await refusal { _ = try await event(listener) }
            #expect(error?.code == .resourceExhausted && error?.message.contains("a client listens to") == true)
        }
    }

    @Test func aWindowThatGrowsBeyondTheBoundEnds() async throws {
        var configuration = TestStore.configuration
        configuration.maxWindowBytes = 6_000
        try await withStore(configuration: configuration) { test in
            var query = Query(collectionID: "c")
            query.limit = 10
            let listener = try test.store.listen(to: .query(query))
            guard case .initial? = try? await event(listener) else { throw DocumentError(.unknown, "") }
            func set(_ path: String, _ count: Int) async throws {
                try await test.set(path, ["s": .string(String(repeating: "x", count: count))])
            }
            // What shrinks makes room again.
            for _ in 0..<5 {
                for count in [4000, 10] {
                    try await set("c/a", count)
                    guard case .changes? = try? await event(listener) else { throw DocumentError(.unknown, "") }
                }
            }
            // One after the other: two that come in one round are one event.
            for path in ["c/a", "c/b"] {
                try await set(path, 2500)
                guard case .changes? = try? await event(listener) else { throw DocumentError(.unknown, "") }
            }
            try await set("c/c", 2500)
            let error = await refusal { _ = try await event(listener) }
            #expect(error?.code == .resourceExhausted && error?.message.contains("the limit") == true)
            guard case .initial? = try? await event(test.store.listen(to: .query(Query(collectionID: "c")))) else {
                throw DocumentError(.unknown, "")
            }
        }
    }

    /// The thread of a store that isn't started takes nothing.
    @Test func whatHasEndedCountsWithItsWindowUntilTheThreadHasTakenIt() async throws {
        let engine = MemoryEngine()
        try await withStore(engine: engine) { test in
            var last = Timestamp(microseconds: 0)
            for n in 0..<4 {
                last = try await test.set("c/d\(n)", ["s": .string(String(repeating: "x", count: 1000))]).commitTime
            }
            var configuration = TestStore.configuration
            configuration.maxUnreadBytes = 6000
            let store = try DocumentStore(engine: engine, now: test.clock.timestamp, configuration: configuration)
            let session = SnapshotSession(try engine.makeReadSession())
            var query = Query(collectionID: "c")
            query.limit = 4
            /// Its first event is small: nothing has changed.
            func listenAndEnd() throws -> ListenerCore {
                let mailbox = try store.listeners.register(OperationContext())
                defer { store.listeners.end(mailbox.id, .cancelled) }
                let core = try session.read { snapshot in
                    try ListenerCore(
                        ListenerTarget(.query(query)), from: last, mailbox, OperationContext(), store.parts,
                        store.parts.view(of: snapshot), version: snapshot.version)
                }
                try store.listeners.add(core)
                return core
            }
            let first = try listenAndEnd()
            let error = await refusal { _ = try listenAndEnd() }
            #expect(error?.code == .unavailable && error?.message.contains("wait for listeners") == true)
            // Taken, it counts no more.
            store.listeners.took(first)
            #expect(throws: Never.self) { try listenAndEnd() }
        }
    }

    @Test func whatComesAboutAtOnceIsNotTooMuch() throws {
        var queue = ListenerQueue(maxEvents: 1, maxBytes: 10)
        let (first, next) = (Timestamp(microseconds: 1), Timestamp(microseconds: 2))
        var isTaken = queue.push([SizedEvent(.initial([], at: first)), SizedEvent(.changes([], at: next))])
        #expect(isTaken)
        let answers = [queue.take(), queue.take()]
        #expect(answers == [.event(.initial([], at: first)), .event(.changes([], at: next))])
        isTaken = queue.push([SizedEvent(.changes([], at: next))])
        #expect(isTaken)
        isTaken = queue.push([SizedEvent(.changes([], at: next))])
        #expect(!isTaken && queue.bytes == 0)
    }

    /// By bytes, long before it would be too many events.
    @Test func aListenerHoldsBackNoMoreBytesThanItsOwnBound() {
        var queue = ListenerQueue(maxEvents: 1000, maxBytes: 1000)
        let small = ListenEvent.changes([], at: Timestamp(microseconds: 1))
        let fitting = 1000 / small.size
        for _ in 0..<fitting {
            let isTaken = queue.push([SizedEvent(small)])
            #expect(isTaken)
        }
        let isTaken = queue.push([SizedEvent(small)])
        #expect(!isTaken)
        guard case .event(.startOver(let reason))? = queue.take() else {
            Issue.record("the listener didn't receive a reset")
            return
        }
        #expect(reason.contains("too slowly"))
    }

    @Test func readingAgainIsCountedAnewEachMinute() {
        var times = RefillTimes()
        var left: [Duration] = []
        for second in [100, 110, 159, 160] {
            left.append(times.left(of: .seconds(2), for: .client(1), at: .seconds(second)))
            times.spend(.seconds(1), for: .client(1))
        }
        #expect(left == [.seconds(2), .seconds(1), .zero, .seconds(2)])
        #expect(times.left(of: .seconds(2), for: .client(2), at: .seconds(161)) == .seconds(2))
        #expect(times.left(of: .seconds(2), for: .listener(1), at: .seconds(161)) == .seconds(2))
    }

    @Test func aListenerThatIsReadAgainTooLongStartsOver() async throws {
        var configuration = TestStore.configuration
        configuration.maxRefillTime = .milliseconds(10)
        let store = try DocumentStore(
            engine: MemoryEngine(), now: ManualClock().timestamp, elapsed: Self.tickingClock(),
            configuration: configuration)
        try store.start()
        let paths = try (0..<5).map { try DocumentPath("c/d\($0)") }
        let sets = paths.map { Write(path: $0, operation: .set([:])) }
        _ = try await store.commit(sets)
        var query = Query(collectionID: "c")
        query.limit = 2
        let listener = try store.listen(to: .query(query))
        _ = try await listener.next()
        for path in paths.prefix(2) {
            let delete = Write(path: path, operation: .delete)
            _ = try await store.commit([delete])
            let event = try await listener.next()
            if path == paths[0] {
                guard case .changes(let changes, _)? = event else { throw DocumentError(.unknown, "\(event as Any)") }
                #expect(changes.map(\.document.path) == [paths[0], paths[2]])
            } else {
                guard case .startOver(let reason)? = event else { throw DocumentError(.unknown, "\(event as Any)") }
                #expect(reason.contains("within a minute"))
            }
        }
        await store.shutdown()
    }

    /// The thread of a store that isn't started follows what another one left in the log.
    @Test func catchingUpIsOneRoundAndWhoIsReadAgainComesLast() async throws {
        let engine = MemoryEngine()
        try await withStore(engine: engine) { test in
            for n in 0..<5 { try await test.set("c/d\(n)", [:]) }
            let plain = Mutex<[ListenerMailbox]>([])
            let reported = Mutex<[Int]>([])
            let store = try DocumentStore(
                engine: engine, now: test.clock.timestamp,
                elapsed: {
                    reported.withLock { $0.append(plain.withLock { $0.count { $0.unreadBytes > 1600 } }) }
                    return .zero
                })
            let session = SnapshotSession(try engine.makeReadSession())
            var query = Query(collectionID: "c")
            func listen(limit: Int?) throws -> ListenerMailbox {
                query.limit = limit
                let mailbox = try store.listeners.register(OperationContext())
                let core = try session.read { snapshot in
                    try ListenerCore(
                        ListenerTarget(.query(query)), from: nil, mailbox, OperationContext(), store.parts,
                        store.parts.view(of: snapshot), version: snapshot.version)
                }
                try store.listeners.add(core)
                return mailbox
            }
            let window = try listen(limit: 2)
            let others = try (0..<20).map { _ in try listen(limit: nil) }
            plain.withLock { $0 = others }
            var last = Timestamp(microseconds: 0)
            for n in 0..<5 {
                try await test.commit([Write(path: DocumentPath("c/d\(n)"), operation: .delete)])
                last = try await test.set("c/e\(n)", ["s": .string(String(repeating: "x", count: 200))]).commitTime
            }
            #expect(store.listeners.jobs.put(.behind))
            store.listeners.jobs.close()
            reported.withLock { $0 = [] }
            ListenerThread(store.parts, session).run()
            // The beginning and the end of what all others share, those of the look at the window, and then the refill.
            let times = reported.withLock { $0 }
            #expect(times.prefix(4).contains(0))
            #expect(Set(times.dropFirst(4)) == [20])
            for mailbox in others + [window] {
                guard case .initial? = try await mailbox.next() else { throw DocumentError(.unknown, "") }
                guard case .changes(let changes, at: last)? = try await mailbox.next() else {
                    throw DocumentError(.unknown, "")
                }
                #expect(changes.count == (mailbox === window ? 4 : 10))
            }
        }
    }

    /// A client's stream takes what has come while the thread still reads the log.
    @Test func groupsAreSignalledAfterEachPageThatIsCaughtUp() async throws {
        let engine = MemoryEngine()
        try await withStore(engine: engine) { test in
            try await test.set("c/d", [:])
            let store = try DocumentStore(engine: engine, now: test.clock.timestamp)
            let session = SnapshotSession(try engine.makeReadSession())
            let taken = Mutex<[Timestamp]>([])
            let group = Mutex<ListenerGroup?>(nil)
            let listening = ListenerGroup(store) {
                guard let batch = group.withLock({ $0 })?.take() else { return }
                taken.withLock { $0.append(batch.time) }
            }
            group.withLock { $0 = listening }
            try listening.listen(to: .query(Query(collectionID: "c")), as: 1, in: OperationContext())
            guard let (first, _) = store.pipeline.reads.short.takeFirst() else { throw DocumentError(.unknown, "") }
            try session.read { first.run(on: $0) }
            // Two pages.
            let text = Value.string(String(repeating: "x", count: 1_000_000))
            var last = Timestamp(microseconds: 0)
            for n in 0..<8 { last = try await test.set("c/e\(n)", ["s": text]).commitTime }
            #expect(store.listeners.jobs.put(.behind))
            store.listeners.jobs.close()
            ListenerThread(store.parts, session).run()
            let times = taken.withLock { $0 }
            #expect(times.count == 2)
            #expect(times.last == last)
            group.withLock { $0 = nil }
        }
    }

    /// Each look at the clock takes 10 ms, so that finding an event out does. The thread of a store that isn't started
    /// delivers what it is given.
    @Test(arguments: [(1, 3, false), (1, 4, true), (2, 5, false), (2, 6, true)])
    func allFollowersPayForWhatTheyReceive(clients: Int, rounds: Int, isEnded: Bool) async throws {
        let engine = MemoryEngine()
        try await withStore(engine: engine) { test in
            try await test.set("c/d", [:])
            var configuration = TestStore.configuration
            configuration.maxDeliveryTime = .milliseconds(25)
            let store = try DocumentStore(
                engine: engine, now: test.clock.timestamp, elapsed: Self.tickingClock(), configuration: configuration)
            let session = SnapshotSession(try engine.makeReadSession())
            var mailboxes: [ListenerMailbox] = []
            var start: Int64 = 0
            for owner in 1...UInt64(clients) {
                let context = OperationContext(owner: owner, policy: Everything())
                let mailbox = try store.listeners.register(context)
                let core = try session.read { snapshot in
                    try ListenerCore(
                        ListenerTarget(.query(Query(collectionID: "c"))), from: nil, mailbox, context, store.parts,
                        store.parts.view(of: snapshot), version: snapshot.version)
                }
                try store.listeners.add(core)
                mailboxes.append(mailbox)
                start = core.start
            }
            let path = try DocumentPath("c/d")
            for round in 1...rounds {
                let version = start + Int64(round)
                let time = Timestamp(microseconds: version)
                let document = Document(path: path, fields: [:], createTime: time, updateTime: time)
                let change = DocumentChange(path: path, before: nil, after: document)
                let entry = RecentChanges.Entry(change, version: version, storedBytes: 0, weight: 0)
                #expect(store.listeners.jobs.put(.changes([entry], upTo: version, bytes: 0)))
                // Nobody's: it ends the round.
                #expect(store.listeners.jobs.put(.remove(0)))
            }
            store.listeners.jobs.close()
            ListenerThread(store.parts, session).run()
            for mailbox in mailboxes { #expect(mailbox.isEnded == isEnded) }
        }
    }

    /// SDKs ask for the others. The last change of a document counts, also if it concerned no listener.
    @Test func ofManyDocumentsThatLeaveSomeComeWithTheirNewStates() throws {
        let versions: [Timestamp] = [1, 2, 3].map { Timestamp(microseconds: $0) }
        func document(_ number: Int, _ version: Timestamp) throws -> Document {
            Document(path: try DocumentPath("c/d\(number)"), fields: [:], createTime: versions[0], updateTime: version)
        }
        let before = try (0..<401).map { try document($0, versions[0]) }
        var entries: [RecentChanges.Entry] = []
        for version in versions.dropFirst() {
            for (number, earlier) in before.enumerated() {
                let isDeleted = number == 400 && version == versions[2]
                let after = try isDeleted ? nil : document(number, version)
                let change = DocumentChange(path: earlier.path, before: earlier, after: after)
                entries.append(
                    RecentChanges.Entry(change, version: version.microseconds, storedBytes: 0, weight: 0))
            }
        }
        var left = LeftDocuments(entries)
        let target = try ListenerTarget(.query(Query(collectionID: "c")))
        let event = SizedEvent(.changes(before.map { .removed($0, deleted: false) }, at: versions[2]))
        var counts: [Int] = []
        for _ in 0..<3 {
            let added = left.added(to: event, of: target) { _ in true }
            guard case .changes(let changes, _) = added.event else { throw DocumentError(.unknown, "") }
            var times: [Timestamp] = []
            for case .removed(_, _, let now?) in changes { times.append(now.updateTime) }
            #expect(times.allSatisfy { $0 == versions[2] })
            #expect(added.bytes > event.bytes && added.bytes == added.event.size)
            #expect(changes.last == .removed(before[400], deleted: counts.count < 2))
            counts.append(times.count)
        }
        // The deleted one was looked at, too.
        #expect(counts == [400, 400, 198])
    }

    /// Rules may take some tenths of a second for each of a thousand documents, as a get may ask for.
    @Test func theCheckOfManyDocumentsEnds() async throws {
        struct Slow: AccessPolicy {
            let passed: @Sendable () -> Void

            func check(_ access: Access, in view: AccessView) { passed() }
        }
        let time = Mutex<Duration>(.zero)
        let checks = Mutex(0)
        var configuration = TestStore.configuration
        configuration.clientQueryLimits = QueryLimits(entries: 1_000_000, documents: 1_000_000, time: .seconds(10))
        let store = try DocumentStore(
            engine: MemoryEngine(), now: ManualClock().timestamp, elapsed: { time.withLock { $0 } },
            configuration: configuration)
        try store.start()
        let policy = Slow {
            time.withLock { $0 += .milliseconds(300) }
            checks.withLock { $0 += 1 }
        }
        let paths = try (0..<1000).map { try DocumentPath("c/d\($0)") }
        let client = OperationContext(owner: 1, policy: policy)
        let some = try store.listen(to: .documents(Set(paths.prefix(10))), in: client)
        guard case .initial? = try await some.next() else { throw DocumentError(.unknown, "it isn't allowed") }
        let all = try store.listen(to: .documents(Set(paths)), in: client)
        let error = await refusal { _ = try await all.next() }
        #expect(error?.code == .resourceExhausted)
        #expect(error?.message.contains("fewer documents at a time") == true)
        #expect(checks.withLock { $0 } < 100)
        await store.shutdown()
    }

    /// What was changed since may be much more than the result.
    @Test(arguments: [nil, 2] as [Int?]) func aClientThatWasLongAwayStartsOver(limit: Int?) async throws {
        var configuration = TestStore.configuration
        configuration.clientQueryLimits.documents = 20
        configuration.clientQueryLimits.entries = 20
        try await withStore(configuration: configuration) { test in
            var query = Query(collectionID: "c")
            query.limit = limit
            let client = OperationContext(owner: 1, policy: Everything())
            for name in ["c/a", "c/b", "c/d"] { try await test.set(name, [:]) }
            let early = try await test.set("c/a", ["n": .integer(0)]).commitTime
            for n in 1...10 { try await test.set("c/a", ["n": .integer(Int64(n))]) }
            let late = try test.store.listen(to: .query(query), from: early, in: client)
            guard case .changes(let changes, _)? = try await late.next() else {
                throw DocumentError(.unknown, "it doesn't continue")
            }
            #expect(changes.map(\.document.path.id) == ["a"])
            for n in 11...40 { try await test.set("c/a", ["n": .integer(Int64(n))]) }
            let tooLate = try test.store.listen(to: .query(query), from: early, in: client)
            guard case .startOver? = try await tooLate.next() else { throw DocumentError(.unknown, "it has failed") }
            let again = try test.store.listen(to: .query(query), in: client)
            guard case .initial(let documents, _)? = try await again.next() else {
                throw DocumentError(.unknown, "it doesn't begin")
            }
            #expect(documents.map(\.path.id) == (limit == nil ? ["a", "b", "d"] : ["a", "b"]))
        }
    }

    /// Nulls are stored as a byte each.
    @Test func whatWasChangedMeanwhileCountsByTheMemoryThatItTakes() async throws {
        var configuration = TestStore.configuration
        configuration.maxReadBytes = 10_000 * MemoryLayout<Value>.stride * 2
        try await withStore(configuration: configuration) { test in
            let early = try await test.set("a/b", [:]).commitTime
            let nulls = Value.array(Array(repeating: .null, count: 10_000))
            for (number, isTooMuch) in [(1, false), (6, true)] {
                for n in 0..<number { try await test.set("c/d\(n)", ["nulls": nulls]) }
                let late = try test.store.listen(to: .query(Query(collectionID: "c")), from: early)
                switch try await late.next() {
                case .changes?: #expect(!isTooMuch)
                case .startOver?: #expect(isTooMuch)
                case let other: throw DocumentError(.unknown, "\(other as Any)")
                }
            }
        }
    }

    /// As many listeners as a client may have, on documents with costly rules.
    @Test func aClientWhoseListenersKeepTheThreadStartsOver() async throws {
        struct Slow: AccessPolicy {
            let passed: @Sendable () -> Void

            func check(_ access: Access, in view: AccessView) { passed() }
        }
        let time = Mutex<Duration>(.zero)
        var configuration = TestStore.configuration
        configuration.maxDeliveryTime = .milliseconds(300)
        let store = try DocumentStore(
            engine: MemoryEngine(), now: ManualClock().timestamp, elapsed: { time.withLock { $0 } },
            configuration: configuration)
        try store.start()
        func client(_ owner: UInt64) -> OperationContext {
            var context = OperationContext(policy: Slow { time.withLock { $0 += .milliseconds(100) } })
            context.owner = owner
            return context
        }
        let path = try DocumentPath("c/d")
        var listeners: [DocumentListener] = []
        for _ in 0..<5 { listeners.append(try store.listen(to: .documents([path]), in: client(1))) }
        let other = try store.listen(to: .documents([path]), in: client(2))
        for listener in listeners + [other] { _ = try await listener.next() }
        _ = try await store.commit([Write(path: path, operation: .set([:]))])
        var ends = 0
        for listener in listeners {
            if case .startOver(let reason)? = try await listener.next() {
                ends += 1
                #expect(reason.contains("within a minute"))
            }
        }
        #expect(ends == 2)
        guard case .changes? = try await other.next() else { throw DocumentError(.unknown, "the other has ended") }
        await store.shutdown()
    }

    /// A refill that is refused for another reason isn't taken for one that took too long, however long it took.
    @Test func aWindowThatIsTooLargeToReadAgainFails() async throws {
        var configuration = TestStore.configuration
        configuration.maxRefillTime = .milliseconds(25)
        configuration.maxReadBytes = 100_000
        let store = try DocumentStore(
            engine: MemoryEngine(), now: ManualClock().timestamp, elapsed: Self.tickingClock(),
            configuration: configuration)
        try store.start()
        let sets = try (0..<4).map { n in
            let text = String(repeating: "x", count: n == 2 ? 110_000 : 1)
            return Write(path: try DocumentPath("c/d\(n)"), operation: .set(["text": .string(text)]))
        }
        _ = try await store.commit(sets)
        var query = Query(collectionID: "c")
        query.limit = 2
        let listener = try store.listen(to: .query(query))
        _ = try await listener.next()
        _ = try await store.commit([Write(path: sets[0].path, operation: .delete)])
        let error = await refusal { _ = try await listener.next() }
        #expect(error?.code == .resourceExhausted)
        await store.shutdown()
    }
}
