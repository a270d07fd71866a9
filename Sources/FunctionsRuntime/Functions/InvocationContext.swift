package import Logging
package import NIOCore
package import FunctionManifest
package import WorkerProtocol

/// The context of one run of a handler, in a worker or in a test.
package struct InvocationContext: Sendable {
    package var head: InvocationHead
    package var body: ByteBuffer
    package var deadline: ContinuousClock.Instant
    package var transport: any DocumentTransport
    package var logger: Logger
    /// Sends a chunk of a streamed response; suspends while the client reads slowly.
    package var sendChunk: @Sendable (ByteBuffer) async throws -> Void
    /// Sends a part of a streamed body, at once or gathered with the next ones; suspends while the client reads slowly.
    package var writeBody: @Sendable (ByteBuffer) async throws -> Void
    /// Overrides the process's values, as in a test.
    package var params: ParamValues?

    package init(
        head: InvocationHead, body: ByteBuffer, deadline: ContinuousClock.Instant, transport: any DocumentTransport,
        logger: Logger, sendChunk: @escaping @Sendable (ByteBuffer) async throws -> Void,
        writeBody: @escaping @Sendable (ByteBuffer) async throws -> Void
    ) {
        self.head = head
        self.body = body
        self.deadline = deadline
        self.transport = transport
        self.logger = logger
        self.sendChunk = sendChunk
        self.writeBody = writeBody
    }

    /// The invocation of the current task.
    @TaskLocal package static var current: InvocationContext?
}
