import NIOCore
import WorkerProtocol

/// Sends chunks to a streaming client before the result.
public struct StreamingResponse<Chunk: Encodable & Sendable>: Sendable {
    private let context: InvocationContext

    package init(context: InvocationContext) { self.context = context }

    /// Sends one chunk; suspends while the client reads slowly.
    ///
    /// Does nothing if the client doesn't stream: it receives only the result.
    /// - Returns: Whether the chunk was sent.
    /// - Throws: `EncodingError` if the chunk can't be encoded as JSON, `CancellationError` if the client has
    ///   disconnected or the deadline has passed; another error if the chunk has more than 10 MiB.
    @discardableResult
    public func sendChunk(_ chunk: Chunk) async throws -> Bool {
        guard context.head.streams else { return false }
        try Task.checkCancellation()
        try await context.sendChunk(ByteBuffer(bytes: try CallableEncoder().encode(chunk)))
        return true
    }
}
