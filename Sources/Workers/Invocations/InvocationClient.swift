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
    /// The answer. Called once, unless the client has left; no parts follow.
    func invocationAnswered(_ outcome: InvocationOutcome)
    /// No process runs the handler any more. Called once, as the last call, unless the client has left.
    func invocationEnded(_ outcome: InvocationOutcome)
}

extension InvocationClient {
    package func invocationStarted() {}
    package func invocationEnded(_ outcome: InvocationOutcome) {}
}
