package import WorkerProtocol
package import NIOCore

/// Receives what an invocation sends, on the invocation's loop.
package protocol InvocationClient: AnyObject {
    /// The handler starts; again, if a worker has returned the invocation before its handler began.
    func invocationStarted()
    /// The status and headers of an HTTP function's answer.
    func invocationSent(_ head: HTTPAnswerHead)
    /// A part of a streamed answer. Call `taken` once the client has received it, so that the handler may send more.
    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void)
    /// The answer. Called once and last, unless the client has left before: the invocation lets go of its client then,
    /// and of the request that the client holds, though the handler may go on.
    func invocationAnswered(_ outcome: InvocationOutcome)
}

extension InvocationClient {
    package func invocationStarted() {}
}
