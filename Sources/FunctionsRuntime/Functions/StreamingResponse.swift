import NIOCore
import WorkerProtocol

/// Sends chunks to a client that streams, before the answer.
public struct StreamingResponse<Chunk: Encodable & Sendable>: Sendable {
    private let context: InvocationContext

    package init(context: InvocationContext) { self.context = context }

    /// Sends one chunk; waits while the client is slow to read.
    ///
    /// Does nothing where the client doesn't stream: it gets the answer alone.
    /// - Returns: whether the chunk was sent.
    /// - Throws: `EncodingError` where the chunk can't be written as JSON, `CancellationError` where the client is gone.
    @discardableResult
    public func sendChunk(_ chunk: Chunk) async throws -> Bool {
        guard context.head.streams else { return false }
        try Task.checkCancellation()
        try await context.sendChunk(ByteBuffer(bytes: try CallableEncoder().encode(chunk)))
        return true
    }
}
