import DocumentModel
import DocumentStore
import FunctionsRuntime
import NIOCore
import Synchronization

/// Document operations on a store in the same process.
struct StoreTransport: DocumentTransport {
    let store: DocumentStore
    let database: DatabaseID
    let clock: TesterClock
    /// In whose name they are done.
    let context: OperationContext

    var now: Timestamp { clock.now() }

    func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
        let response = await store.perform(request, in: context)
        if case .failed(let error) = response { throw error }
        return response
    }
}

/// Gathers the parts of a streamed body.
final class StreamedBody: Sendable {
    private let parts = Mutex<[UInt8]>([])

    var bytes: [UInt8] { parts.withLock { $0 } }

    func append(_ part: ByteBuffer) { parts.withLock { $0 += part.readableBytesView } }
}
