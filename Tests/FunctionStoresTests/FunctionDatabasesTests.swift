import CommitPipeline
import DocumentModel
import DocumentStore
import Foundation
import FunctionStores
import RealtimeModel
import RealtimeStore
import StorageEngine
import Synchronization
import TestSupport
import Testing
import WorkerProtocol

/// What functions do with the Realtime Database, as the worker link asks for it.
struct FunctionDatabasesTests {
    private static let path = "a/b"
    private let documents: DocumentStore
    private let backends: FunctionBackends

    init() throws {
        documents = try DocumentStore(engine: MemoryEngine(), now: ManualClock().timestamp, elapsed: { .zero })
        let databases = FunctionDatabases(
            try RealtimeStore(on: documents.pipeline), names: FunctionDatabases.Names(own: "demo-default-rtdb"))
        backends = FunctionBackends(
            documents: documents, databases: databases,
            transactions: FunctionTransactions(documents, users: nil, databases: databases))
        try documents.start()
    }

    private func send(
        _ request: DatabaseRequest, in context: OperationContext = OperationContext(owner: 1)
    ) async throws -> DatabaseAnswer {
        switch await DocumentRequest.database(request).perform(on: backends, in: context) {
        case .database(let answer): return answer
        case .failed(let error): throw error
        case let other: throw DocumentError(.internal, "\(other)")
        }
    }

    private func set(_ path: String, _ json: String, ifHash hash: String? = nil) async throws {
        let answer = try await send(DatabaseRequest(.set, target: path, value: Array(json.utf8), ifHash: hash))
        #expect(answer == .written)
    }

    private func get(_ path: String) async throws -> (json: String, hash: String, version: Int64) {
        guard
            case .value(let json, let hash, let version) = try await send(
                DatabaseRequest(.get, target: path, wantsHash: true))
        else {
            throw DocumentError(.internal, "no value")
        }
        return (String(decoding: json, as: UTF8.self), hash, version)
    }

    @Test(.endsHangs) func whatIsSetIsRead() async throws {
        try await set(Self.path, #"{"c":1,".priority":2}"#)
        #expect(try await get(Self.path).json == #"{"c":1,".priority":2}"#)
        _ = try await send(DatabaseRequest(.update, target: "a", value: Array(#"{"b/c":null,"d":true}"#.utf8)))
        #expect(try await get("").json == #"{"a":{"d":true}}"#)
        await documents.shutdown()
    }

    @Test(
        .endsHangs,
        arguments: [
            DatabaseRequest(.set, target: "a.b", value: Array("1".utf8)),
            DatabaseRequest(.set, target: "a", value: Array("{".utf8)),
            DatabaseRequest(.update, target: "a", value: Array("1".utf8)), DatabaseRequest(.get, target: "#"),
            DatabaseRequest(.get, target: "a", query: Array("[]".utf8)), DatabaseRequest(.get, query: Array("{".utf8)),
            DatabaseRequest(.get, instance: "https://demo.firebaseio.com"),
            DatabaseRequest(.set, instance: "a/b", target: "a", value: Array("1".utf8)),
        ])
    func badRequestsAreRefused(request: DatabaseRequest) async throws {
        let error = await #expect(throws: DocumentError.self) { try await send(request) }
        #expect(error?.code == .invalidArgument)
        await documents.shutdown()
    }

    /// As in clients' requests, which would never reach a database of another name.
    @Test(.endsHangs) func capitalLettersInANameDontMatter() async throws {
        let value = Array("1".utf8)
        _ = try await send(DatabaseRequest(.set, instance: "Staff-1", target: "a", value: value))
        guard case .value(let json, _, _) = try await send(DatabaseRequest(.get, instance: "staff-1")) else {
            Issue.record("no value")
            return
        }
        #expect(String(decoding: json, as: UTF8.self) == #"{"a":1}"#)
        // In a transaction both are one database, whose changes are one commit.
        let changes = DatabaseChanges(
            writes: ["STAFF-1", "staff-1"].map { DatabaseRequest(.set, instance: $0, target: "b", value: value) })
        guard case .committed = try await commit(changes, []) else {
            Issue.record("not committed")
            return
        }
        let refused = DatabaseChanges(writes: [DatabaseRequest(.set, instance: "a/b", target: "a", value: value)])
        guard case .failed(let error) = try await commit(refused, []) else {
            Issue.record("committed")
            return
        }
        #expect(error.code == .invalidArgument)
        await documents.shutdown()
    }

    /// A worker's request is performed on an event loop, which serves other functions, too.
    @Test(.endsHangs) func whatTakesLongToParseIsParsedElsewhere() async throws {
        let long = String(repeating: "#", count: 1 << 20)
        for request in [
            DatabaseRequest(.get, target: long), DatabaseRequest(.get, query: Array(long.utf8)),
            DatabaseRequest(.observe, query: Array(long.utf8)), DatabaseRequest(.set, target: long),
        ] {
            #expect(await !isAnsweredAtOnce(request))
        }
        #expect(await isAnsweredAtOnce(DatabaseRequest(.get, target: "#")))
        await documents.shutdown()
    }

    /// Whether a request is answered on the thread that performs it, before the call returns.
    private func isAnsweredAtOnce(_ request: DatabaseRequest) async -> Bool {
        await withCheckedContinuation { continuation in
            let caller = ObjectIdentifier(Thread.current)
            let isInside = Atomic(true)
            backends.databases.perform(request, in: OperationContext(owner: 1)) { _ in
                let isOnCaller = ObjectIdentifier(Thread.current) == caller
                continuation.resume(returning: isOnCaller && isInside.load(ordering: .sequentiallyConsistent))
            }
            isInside.store(false, ordering: .sequentiallyConsistent)
        }
    }

    @Test(.endsHangs) func aConditionIsCompared() async throws {
        try await set(Self.path, "1", ifHash: "")
        let error = await #expect(throws: DocumentError.self) { try await set(Self.path, "2", ifHash: "") }
        #expect(error?.code == .aborted)
        try await set(Self.path, "2", ifHash: try await get(Self.path).hash)
        #expect(try await get(Self.path).json == "2")
        await documents.shutdown()
    }

    @Test(.endsHangs) func aQueryFindsItsChildren() async throws {
        try await set("users", #"{"a":{"n":1},"b":{"n":2},"c":{"n":3}}"#)
        let query = Array(#"{"i":"n","sp":2,"ep":2}"#.utf8)
        guard case .value(let json, _, _) = try await send(DatabaseRequest(.get, target: "users", query: query)) else {
            Issue.record("no value")
            return
        }
        #expect(String(decoding: json, as: UTF8.self) == #"{"b":{"n":2}}"#)
        await documents.shutdown()
    }

    // MARK: Observations

    @Test(.endsHangs) func changesAreObservedUntilTheOwnerIsOver() async throws {
        try await set(Self.path, #"{"n":1}"#)
        guard case .observing(let id) = try await send(DatabaseRequest(.observe, target: Self.path)) else {
            Issue.record("no observation")
            return
        }
        let next = DatabaseRequest(.next, observation: id)
        #expect(
            try await send(next) == .changes([ReferenceChange.Setting("", Array(#"{"n":1}"#.utf8))]))
        let change = Task { try await send(next) }
        try await set(Self.path + "/m", "2")
        #expect(try await change.value == .changes([ReferenceChange.Setting("m", Array("2".utf8))]))
        // Another owner doesn't see it.
        let foreign = await #expect(throws: DocumentError.self) { try await send(next, in: OperationContext(owner: 2)) }
        #expect(foreign?.code == .failedPrecondition)
        let last = Task { try await send(next) }
        while true {
            // The question may come after the release; it fails either way.
            backends.release(owner: 1)
            if (try? await send(next)) == nil { break }
        }
        await #expect(throws: DocumentError.self) { try await last.value }
        await documents.shutdown()
    }

    // MARK: Transactions

    private func begin() async throws -> TransactionID {
        guard
            case .began(let id, _) = try await documents.begin(
                .readWrite(retrying: nil), in: OperationContext(owner: 1))
        else { throw DocumentError(.internal, "no transaction") }
        return id
    }

    private func commit(_ changes: DatabaseChanges, _ writes: [Write]) async throws -> DocumentResponse {
        await DocumentRequest.commitAll(
            TransactionChanges(database: changes), writes, transaction: try await begin(), completing: nil
        ).perform(on: backends, in: OperationContext(owner: 1))
    }

    private func exists(_ document: DocumentPath) async throws -> Bool {
        try await documents.get([document]).documents.first.flatMap { $0 } != nil
    }

    @Test(.endsHangs) func documentsAndTheTreeAreOneCommit() async throws {
        try await set(Self.path, "1")
        let read = DatabaseRequest(.get, target: Self.path)
        let (_, hash, version) = try await get(Self.path)
        let changes = DatabaseChanges(
            expectations: [.init(read, hash: hash, version: version)],
            writes: [DatabaseRequest(.set, target: Self.path, value: Array("2".utf8))])
        let document = try DocumentPath("likes/a")
        let write = Write(path: document, operation: .set(["n": .integer(2)]))
        guard case .committed = try await commit(changes, [write]) else {
            Issue.record("not committed")
            return
        }
        #expect(try await get(Self.path).json == "2")
        #expect(try await exists(document))
        // The same again: what it has read has changed.
        let other = Write(path: try DocumentPath("likes/b"), operation: .set([:]))
        guard case .failed(let error) = try await commit(changes, [other]) else {
            Issue.record("committed")
            return
        }
        #expect(error.code == .aborted)
        #expect(try await exists(other.path) == false)
        // A change elsewhere, or one that comes to the same, doesn't matter.
        try await set("elsewhere", "1")
        try await set(Self.path, "1")
        guard case .committed = try await commit(changes, [other]) else {
            Issue.record("not committed")
            return
        }
        await documents.shutdown()
    }

    @Test(.endsHangs) func aRefusedDocumentLeavesTheTreeAsItWas() async throws {
        let write = Write(
            path: try DocumentPath("likes/a"), operation: .update(["n": .integer(1)], mask: [try FieldPath("n")]),
            precondition: .exists(true))
        let changes = DatabaseChanges(writes: [DatabaseRequest(.set, target: Self.path, value: Array("1".utf8))])
        guard case .failed(let error) = try await commit(changes, [write]) else {
            Issue.record("committed")
            return
        }
        #expect(error.code == .notFound)
        #expect(try await get("").json == "null")
        await documents.shutdown()
    }
}
