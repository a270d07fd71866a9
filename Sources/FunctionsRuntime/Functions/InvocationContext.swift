package import Logging
package import NIOCore
package import FunctionManifest
package import WorkerProtocol

/// What one run of a handler has around it, whoever runs it: a worker, or a test.
package struct InvocationContext: Sendable {
    package var head: InvocationHead
    package var body: ByteBuffer
    package var deadline: ContinuousClock.Instant
    package var transport: any DocumentTransport
    package var logger: Logger
    /// Sends a part of a streamed answer; waits while the client is slow.
    package var sendChunk: @Sendable (ByteBuffer) async throws -> Void
    /// Where they differ from those of the process, as in a test.
    package var params: ParamValues?

    package init(
        head: InvocationHead, body: ByteBuffer, deadline: ContinuousClock.Instant, transport: any DocumentTransport,
        logger: Logger, sendChunk: @escaping @Sendable (ByteBuffer) async throws -> Void
    ) {
        self.head = head
        self.body = body
        self.deadline = deadline
        self.transport = transport
        self.logger = logger
        self.sendChunk = sendChunk
    }

    /// The invocation that the current task works for.
    @TaskLocal package static var current: InvocationContext?
}
