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
            waiting: WaitingWrites(limits), call: ClientCall(address: nil), onNews: { continuation.yield() })
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
