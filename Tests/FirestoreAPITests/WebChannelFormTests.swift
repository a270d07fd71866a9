import CommitPipeline
import DocumentModel
import DocumentStore
@testable import FirestoreAPI
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore
import SecurityRules
import StorageEngine
import Testing

/// What the web SDK sends, on a store.
@Suite struct WebChannelFormTests {
    /// Ten writes that waited for the network, of 1 MiB each, are one form. The SDK would send a refused one for ever.
    @Test(arguments: [(12_000, 200), (13_000, 400)])
    func aFormMayBeThreeTimesAsLargeAsARequest(bytes: Int, status: Int) async throws {
        let database = DatabaseID(project: "demo-shop")
        let store = try DocumentStore(on: try CommitPipeline(engine: MemoryEngine(), now: { .wallClock() }))
        try store.start()
        let rules = ClientRules(.open)
        let service = StoreDocumentService(store, database: database, rules: rules)
        let webChannel = WebChannelService(store, database: database, service: service, rules: rules)
        let rest = DocumentREST(
            database: database, service: service, rules: rules, isDevelopment: true,
            principals: PrincipalReader(isDevelopment: true) { _ in Requester(.admin) }, webChannel: webChannel,
            maxBodyBytes: 4096)
        let start = "count=0&headers="
        let form = start + String(repeating: "x", count: bytes - start.utf8.count)
        let code = try await Application(responder: rest).test(.router) { client in
            try await client.executeRequest(
                uri: "/google.firestore.v1.Firestore/Write/channel?VER=8&RID=1&CVER=22", method: .post,
                headers: [:], body: ByteBuffer(string: form)
            ).status.code
        }
        #expect(code == status)
        webChannel.close()
        await store.shutdown()
    }
}
