import DocumentModel
import WorkerProtocol

/// Sends document operations over the invocation's link.
struct LinkTransport: DocumentTransport {
    let invocation: WorkerInvocation
    let database: DatabaseID

    func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
        let bytes = await invocation.perform(request)
        let response: DocumentResponse
        do {
            response = try DocumentResponse(decoding: bytes)
        } catch {
            throw DocumentError(.internal, "the host's response to a document operation is malformed: \(error)")
        }
        if case .failed(let error) = response { throw error }
        return response
    }
}
