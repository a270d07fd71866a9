package import DocumentModel
package import WorkerProtocol

/// The request for one invocation.
package struct InvocationRequest {
    /// What the handler learns of the request. The execution's ID, the time left and the user are set on admission.
    package var head: InvocationHead
    package var body: InvocationBody
    /// The key under which the answer is kept, of this caller and data; empty until the handler names it.
    package var completionKey: CompletionKey?
    /// A shorter time than the function's own timeout; nil for none.
    package var timeoutSeconds: Int?
    /// The delivery that this is an attempt at; nil for a request.
    package var delivery: InvocationDelivery?
    /// Called once and last, on the invocation's loop, when no process runs the handler any more, which may be long after
    /// the client was answered. Not called if the client has left.
    package var onEnd: ((InvocationOutcome) -> Void)?

    package init(
        head: InvocationHead = InvocationHead(), body: InvocationBody,
        completionKey: CompletionKey? = nil, timeoutSeconds: Int? = nil, delivery: InvocationDelivery? = nil,
        onEnd: ((InvocationOutcome) -> Void)? = nil
    ) {
        self.head = head
        self.body = body
        self.completionKey = completionKey
        self.timeoutSeconds = timeoutSeconds
        self.delivery = delivery
        self.onEnd = onEnd
    }
}
