import CommitPipeline
import DocumentModel
import DocumentStore
@testable import FirestoreAPI
import SecurityRules
import Sharing
import StorageEngine
import TestSupport
import Testing

/// What a Write client is answered, on a store.
@Suite(.endsHangs) struct WriteEndpointTests {
    /// The client would send them again and again, and no write behind them.
    @Test func writesThatNeverHaveRoomAreInvalid() async throws {
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        try store.start()
        let service = StoreDocumentService(
            store, database: DatabaseID(project: "demo"), rules: ClientRules(.open))
        let memory = MemoryBudget(total: 800_000)
        func refusal(bytes: Int) async throws -> StatusCode? {
            var stream = WriteStream(service, as: Requester(.admin), memory: memory, holder: .user(1))
            _ = try await stream.handle(WriteStreamRequest(hasDatabase: true))
            let fields: [String: Value] = ["s": .string(String(repeating: "x", count: bytes))]
            let write = Write(path: try DocumentPath("c/a"), operation: .set(fields))
            do throws(DocumentError) {
                _ = try await stream.handle(WriteStreamRequest(hasDatabase: false, writes: [write]))
                return nil
            } catch {
                return error.code
            }
        }
        #expect(try await refusal(bytes: 310_000) == .invalidArgument)
        // Others have it at the moment.
        #expect(memory.take(700_000, for: .host))
        #expect(try await refusal(bytes: 200_000) == .resourceExhausted)
        memory.release(700_000, of: .host)
        #expect(try await refusal(bytes: 200_000) == nil)
        await store.shutdown()
    }

    /// The client sends the rest again in another stream.
    @Test func whatWaitsIsDoneBeforeTooMuchEndsTheStream() async throws {
        let database = DatabaseID(project: "demo")
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        var limits = ClientLimits.Write()
        limits.waiting = 5
        let (news, continuation) = AsyncStream.makeStream(of: Void.self)
        let service = StoreDocumentService(store, database: database, rules: ClientRules(.open))
        let endpoint = WriteEndpoint(
            WriteStream(service, as: Requester(.admin)), StreamJSON(database: database), limits: limits,
            waiting: WaitingMessages(limits), call: ClientCall(address: nil), onNews: { continuation.yield() })
        endpoint.receive(Array(#"{"database":"\#(database.resourceName)"}"#.utf8))
        let write =
            #"{"writes":[{"update":{"name":"\#(database.documentsRoot)/c/a"},"updateMask":{"fieldPaths":[]},"#
            + #""updateTransforms":[{"fieldPath":"n","increment":{"integerValue":"1"}}]}]}"#
        for _ in 0..<20 { endpoint.receive(Array(write.utf8)) }
        // Until now no write is done.
        try store.start()
        var answers: [String] = []
        for await _ in news {
            answers += endpoint.take().messages.map { String(decoding: $0, as: UTF8.self) }
            if answers.last?.contains("RESOURCE_EXHAUSTED") == true { break }
        }
        let done = try await service.get([try DocumentPath("c/a")], .strong, as: .admin).documents
        // Besides the first answer and the error.
        #expect(done.first??.fields["n"] == .integer(Int64(answers.count - 2)))
        #expect(answers.count - 2 >= limits.waiting - 1)
        #expect(answers.dropLast().allSatisfy { !$0.contains("error") })
        endpoint.close()
        await store.shutdown()
    }
}
