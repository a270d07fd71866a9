import CommitPipeline
import Dispatch
import DocumentModel
import DocumentStore
@testable import FirestoreAPI
import Sharing
import StorageEngine
import StrictJSON
import Synchronization
import TestSupport
import Testing

/// What a Listen client receives, whatever the wire.
@Suite(.endsHangs) struct ListenStreamTests {
    /// A stream over a store of its own.
    private struct Followed {
        let store: DocumentStore
        let stream: ListenStream
        private let signals: AsyncStream<Void>

        init(
            policy: (any AccessPolicy)? = nil, owner: @escaping @Sendable () -> UInt64? = { nil },
            configuration: StoreConfiguration = StoreConfiguration()
        ) throws {
            store = try DocumentStore(
                on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }), configuration: configuration)
            try store.start()
            let (signals, continuation) = AsyncStream.makeStream(of: Void.self)
            self.signals = signals
            let context: @Sendable () -> OperationContext = { OperationContext(owner: owner(), policy: policy) }
            stream = ListenStream(store, limits: ClientLimits.Listen(), context: context) { continuation.yield() }
        }

        func set(_ path: String, _ fields: [String: Value] = [:]) async throws {
            let write = Write(path: try DocumentPath(path), operation: .set(fields))
            _ = try await store.commit([write], transaction: nil, in: OperationContext())
        }

        func add(_ id: Int32, _ collection: String) throws {
            try stream.receive(
                .add(ListenTargetRequest(id: id, target: .success(.query(Query(collectionID: collection))))))
        }

        /// What comes up to the first message for which `isLast` is true.
        func next(until isLast: (ListenResponse) -> Bool) async throws -> [ListenResponse] {
            var all: [ListenResponse] = []
            for await _ in signals {
                all += try stream.take()
                if all.contains(where: isLast) { break }
            }
            return all
        }
    }

    private func position(_ response: ListenResponse) -> Timestamp? {
        guard case .targets(.noChange, [], _, let position) = response else { return nil }
        return position
    }

    @Test func aQuietStreamReportsHowFarItIs() async throws {
        let followed = try Followed()
        try await followed.set("a/1")
        // Commits reach the listeners' thread only while there is another listener.
        try followed.add(1, "a")
        let first = try await followed.next { position($0) != nil }.compactMap(position).last
        followed.stream.refresh()
        let unchanged = try await followed.next { position($0) != nil }
        #expect(unchanged.count == 1)
        #expect(unchanged.compactMap(position).last == first)
        try await followed.set("b/1")
        var later: Timestamp?
        while later == nil || later == first {
            followed.stream.refresh()
            later = try await followed.next { position($0) != nil }.compactMap(position).last
        }
        #expect(try #require(later) > #require(first))
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// Without its state, SDKs would show it as from their cache, and listen to it by itself.
    @Test func aDocumentThatLeavesIsSentWithItsNewState() async throws {
        let followed = try Followed()
        try await followed.set("a/1", ["n": .integer(1)])
        var query = Query(collectionID: "a")
        query.filter = .field(try FieldPath("n"), .equal, .integer(1))
        try followed.stream.receive(.add(ListenTargetRequest(id: 3, target: .success(.query(query)))))
        _ = try await followed.next { position($0) != nil }
        try await followed.set("a/1", ["n": .integer(2)])
        let messages = try await followed.next { position($0) != nil }
        let json = StreamJSON(database: DatabaseID(project: "demo"))
        let text = String(decoding: json.text(try #require(messages.first)).bytes, as: UTF8.self)
        #expect(text.hasPrefix(#"{"documentChange":{"document":{"#))
        #expect(text.contains(#""n":{"integerValue":"2"}"#))
        #expect(text.hasSuffix(#","removedTargetIds":[3]}}"#))
        #expect(!text.contains("targetIds"))
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// The client learns the ids in the order of its targets, as on the official emulator.
    @Test func aTargetWithoutAnIDGetsOneThatNoOtherHas() async throws {
        let followed = try Followed()
        let ids: [Int32] = [0, 7, 0, .max, 0, 0]
        for id in ids { try followed.add(id, "a") }
        let added = try followed.stream.take().flatMap { response -> [Int32] in
            guard case .targets(.add, let ids, nil, _) = response else { return [] }
            return ids
        }
        #expect(added == [1, 7, 8, .max, 2, 3])
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// The web SDK warns of a wrong configuration then. The documents that it asks for are of the other database, too.
    @Test func aStreamForAnotherDatabaseEndsWithNotFound() async throws {
        let followed = try Followed()
        let endpoint = ListenEndpoint(
            followed.stream, StreamJSON(database: DatabaseID(project: "demo")), maxBytes: 1000, onNews: {})
        let database = "projects/demo/databases/other"
        let target = #"{"targetId":2,"documents":{"documents":["\#(database)/documents/a/b"]}}"#
        endpoint.receive(Array(#"{"database":"\#(database)","addTarget":\#(target)}"#.utf8))
        let sent = endpoint.take().messages.map { String(decoding: $0, as: UTF8.self) }
        #expect(sent.count == 1)
        #expect(sent.first?.contains(#""status":"NOT_FOUND""#) == true)
        #expect(sent.first?.contains("The database other does not exist for project demo") == true)
        await followed.store.shutdown()
    }

    /// Over WebChannel as over gRPC.
    @Test func aMessageOfTheWebSDKHasABound() async throws {
        let followed = try Followed()
        let endpoint = ListenEndpoint(
            followed.stream, StreamJSON(database: DatabaseID(project: "demo")), maxBytes: 200, onNews: {})
        func sent() -> [String] { endpoint.take().messages.map { String(decoding: $0, as: UTF8.self) } }
        let name = "projects/demo/databases/(default)/documents/a/b"
        let message = #"{"addTarget":{"targetId":2,"documents":{"documents":["\#(name)"]}}}"#
        endpoint.receive(Array(message.utf8))
        #expect(sent().first?.contains("ADD") == true)
        endpoint.receive(Array((message + String(repeating: " ", count: 200)).utf8))
        // The client gives the target up, and not the others.
        #expect(sent().map { $0.contains(#""cause":{"code":3,"#) } == [false, true])
        endpoint.receive(Array(message.replacing("2", with: "4").utf8))
        #expect(sent().first?.contains("ADD") == true)
        await followed.store.shutdown()
    }

    /// As over gRPC.
    @Test func aTargetOfAnUnknownKindIsRefusedByItself() async throws {
        let followed = try Followed()
        let endpoint = ListenEndpoint(
            followed.stream, StreamJSON(database: DatabaseID(project: "demo")), maxBytes: 2000, onNews: {})
        func sent() -> [String] { endpoint.take().messages.map { String(decoding: $0, as: UTF8.self) } }
        endpoint.receive(Array(#"{"addTarget":{"pipelineQuery":{"structuredPipeline":{}},"targetId":2}}"#.utf8))
        #expect(sent().map { $0.contains(#""cause":{"code":3,"message":"pipelineQuery: "#) } == [false, true])
        let name = "projects/demo/databases/(default)/documents/a/b"
        endpoint.receive(Array(#"{"addTarget":{"targetId":4,"documents":{"documents":["\#(name)"]}}}"#.utf8))
        #expect(sent().first?.contains("ADD") == true)
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// As over gRPC.
    @Test func aTargetThatCanNotBeReadIsRefusedByItself() async throws {
        let followed = try Followed()
        let endpoint = ListenEndpoint(
            followed.stream, StreamJSON(database: DatabaseID(project: "demo")), maxBytes: 10_000, onNews: {})
        func sent() -> [String] { endpoint.take().messages.map { String(decoding: $0, as: UTF8.self) } }
        func target(_ id: Int, _ name: String, _ more: String = "") -> [UInt8] {
            let name = "projects/demo/databases/(default)/documents/a/" + name
            return Array(#"{"addTarget":{"documents":{"documents":["\#(name)"]},"targetId":\#(id)\#(more)}}"#.utf8)
        }
        for (id, message) in [
            (2, target(2, "e" + String(repeating: "\u{301}", count: 1001))),
            (4, target(4, "b", #","readTime":"yesterday""#)),
        ] {
            endpoint.receive(message)
            let answers = sent()
            #expect(answers.map { $0.contains(#""cause":{"code":3,"#) } == [false, true])
            #expect(answers.allSatisfy { $0.contains(#""targetIds":[\#(id)]"#) })
        }
        endpoint.receive(target(6, "b"))
        #expect(sent().first?.contains("ADD") == true)
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// Answers are bounded by their number while a client takes none, and an error may quote a whole message.
    @Test func theErrorOfATargetIsShort() async throws {
        let followed = try Followed()
        let error = DocumentError.invalidArgument(String(repeating: "x", count: 1 << 20))
        try followed.stream.receive(.add(ListenTargetRequest(id: 1, target: .failure(error))))
        var messages: [String] = []
        for case .targets(.remove, [1], let cause?, _) in try followed.stream.take() { messages.append(cause.message) }
        #expect(messages == [String(repeating: "x", count: 1500)])
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// A page that listens, stops and listens again at once sends all three together.
    @Test func theErrorOfARefusedTargetThatTheClientHasRemovedIsNotSent() async throws {
        let followed = try Followed()
        let refused = ListenTargetRequest(id: 2, target: .failure(.invalidArgument("a bad query")))
        try followed.stream.receive(.add(refused))
        try followed.stream.receive(.remove(2))
        try followed.stream.receive(.add(refused))
        var answers: [String] = []
        for case .targets(let change, [2], let cause, _) in try followed.stream.take() {
            answers.append("\(change) \(cause?.message ?? "")")
        }
        #expect(answers == ["add ", "remove ", "add ", "remove a bad query"])
        followed.stream.close()
        await followed.store.shutdown()
    }

    @Test func aTargetThatBeginsAgainHasOneStart() async throws {
        let followed = try Followed()
        try await followed.set("a/1")
        try followed.add(1, "a")
        try followed.add(1, "a")
        let answers = try await followed.next { position($0) != nil }
        let current = answers.count { if case .targets(.current, [1], _, _) = $0 { true } else { false } }
        #expect(current == 1)
        followed.stream.close()
        await followed.store.shutdown()
    }

    private struct Failing: AccessPolicy {
        let code: StatusCode

        func check(_ access: Access, in view: AccessView) throws { throw DocumentError(code, "failed") }
    }

    /// Clients give a target up for good that is removed with an error.
    @Test(arguments: [(StatusCode.unavailable, true), (.permissionDenied, false), (.resourceExhausted, false)])
    func whatMayPassEndsTheStreamAndNotATarget(code: StatusCode, endsStream: Bool) async throws {
        let followed = try Followed(policy: Failing(code: code))
        try followed.add(1, "a")
        var (removed, end): (StatusCode?, StatusCode?)
        do {
            let messages = try await followed.next {
                if case .targets(.remove, [1], _, _) = $0 { true } else { false }
            }
            for case .targets(.remove, [1], let cause, _) in messages { removed = cause?.code }
        } catch {
            end = (error as? DocumentError)?.code
            let endpoint = ListenEndpoint(
                followed.stream, StreamJSON(database: DatabaseID(project: "demo")), maxBytes: 200, onNews: {})
            let messages = endpoint.take().messages.map { String(decoding: $0, as: UTF8.self) }
            #expect(messages.map { $0.contains(#""status":"RESOURCE_EXHAUSTED""#) } == [true])
            #expect(endpoint.take().messages.isEmpty)
        }
        // After which the client waits for a time.
        #expect(end == (endsStream ? .resourceExhausted : nil))
        #expect(removed == (endsStream ? nil : code))
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// What others hold may pass, and the client would give the target up for good.
    @Test func aTargetThatHasNoPlaceAmongAllEndsTheStream() async throws {
        var configuration = StoreConfiguration()
        configuration.maxListeners = 1
        let followed = try Followed(configuration: configuration)
        try followed.add(1, "a")
        _ = try await followed.next { position($0) != nil }
        try followed.add(2, "b")
        #expect(throws: DocumentError(.resourceExhausted, "1 listeners are open, the limit; retry later")) {
            try followed.stream.take()
        }
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// After which the client comes back at once.
    @Test func aStreamOfAStoreThatShutsDownIsUnavailable() async throws {
        let followed = try Followed()
        try followed.add(1, "a")
        _ = try await followed.next { position($0) != nil }
        await followed.store.shutdown()
        var end: StatusCode?
        do {
            _ = try await followed.next { _ in false }
        } catch {
            end = (error as? DocumentError)?.code
        }
        #expect(end == .unavailable)
        followed.stream.close()
    }

    /// Holds back who wants to listen to the collection `a` while it is shut.
    private final class Gate: AccessPolicy {
        private let isShut = Mutex(false)
        private let opened = DispatchSemaphore(value: 0)

        func shut() { isShut.withLock { $0 = true } }

        func open() {
            isShut.withLock { $0 = false }
            opened.signal()
        }

        func check(_ access: Access, in view: AccessView) {
            guard case .list(let query) = access, query.collectionID == "a", isShut.withLock({ $0 }) else { return }
            opened.wait()
        }
    }

    /// Where it counts as unread, and ends the listener if it becomes too much.
    @Test func whatComesWhileATargetIsBehindWaitsInTheStore() async throws {
        let gate = Gate()
        let followed = try Followed(policy: gate)
        try followed.add(1, "a")
        try followed.add(2, "b")
        _ = try await followed.next { position($0) != nil }
        gate.shut()
        defer { gate.open() }
        followed.stream.decideAgain()
        let other = try followed.store.listen(to: .query(Query(collectionID: "b")), in: OperationContext())
        _ = try await other.next()
        let fields: [String: Value] = ["s": .string(String(repeating: "x", count: 10_000))]
        // Until the second target has begun again, what comes is in its first event.
        var rounds = 0
        while followed.store.listenerFigures.unreadBytes < 50_000 {
            rounds += 1
            try await followed.set("b/\(rounds)", fields)
            _ = try await other.next()
            #expect(try followed.stream.take().isEmpty)
        }
        gate.open()
        let messages = try await followed.next { position($0) != nil }
        #expect(messages.count { if case .change = $0 { true } else { false } } == rounds)
        followed.stream.close()
        await followed.store.shutdown()
    }

    /// The client would take it for the error of the target that it has now, and give that up.
    @Test func theErrorOfATargetThatTheClientHasRemovedIsNotSent() async throws {
        let gate = Gate()
        let owner = Mutex<UInt64>(1)
        var configuration = StoreConfiguration()
        configuration.maxTargetBytesPerClient = 5000
        let followed = try Followed(policy: gate, owner: { owner.withLock { $0 } }, configuration: configuration)
        try followed.add(1, "a")
        try followed.add(2, "b")
        _ = try await followed.next { position($0) != nil }
        // Leaves the second client room for one target of the stream.
        let paths = try (0..<10).map { try DocumentPath("c/\($0)") }
        let other = try followed.store.listen(
            to: .documents(Set(paths)), in: OperationContext(owner: 2, policy: gate))
        gate.shut()
        defer { gate.open() }
        owner.withLock { $0 = 2 }
        followed.stream.decideAgain()
        // The first target is behind, so that the error of the second waits.
        #expect(try followed.stream.take().isEmpty)
        owner.withLock { $0 = 1 }
        try followed.stream.receive(.remove(2))
        try followed.add(2, "b")
        gate.open()
        let messages = try await followed.next { if case .targets(.current, [2], _, _) = $0 { true } else { false } }
        var causes: [DocumentError?] = []
        for case .targets(.remove, [2], let cause, _) in messages { causes.append(cause) }
        #expect(causes == [nil])
        other.cancel()
        followed.stream.close()
        await followed.store.shutdown()
    }
}
