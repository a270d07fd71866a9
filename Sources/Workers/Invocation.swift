package import DocumentModel
package import WorkerProtocol
package import NIOCore

/// One run of a handler, as the host sees it. Lives on one loop.
package final class Invocation {
    enum State {
        case queued
        case running(WorkerLink)
        /// Answered before its handler ended: the deadline passed or the client left. Its place in the worker stays
        /// taken until the handler ends or, after `giveUpAt`, the worker is given up.
        case unwanted(WorkerLink, giveUpAt: NIODeadline)
        case abandoned(WorkerLink)
        case ended
    }

    let id: UInt64
    let pool: WorkerPool
    let head: InvocationHead
    let deadline: NIODeadline
    /// Under what the answer of a transactional function is kept.
    let completionKey: CompletionKey?
    private(set) weak var client: (any InvocationClient)?
    /// Who follows it to its real end, where somebody does.
    package var observer: (any InvocationObserver)?
    /// The event that its handler is told of; nil for a request.
    package var delivery: InvocationDelivery?
    /// Where the request comes from; nil for an event.
    package var address: IPAddress?
    /// The request's body, until it is sent to a worker.
    var body: ByteBuffer
    var state = State.queued
    /// When its worker is asked to give it back unless its handler has begun.
    var recallAt = NIODeadline.distantFuture
    /// Bytes of its streamed answer that the client hasn't taken yet.
    var unreadBytes = 0
    /// Document operations that the store has not answered yet.
    var pendingOperations = 0
    /// Transactions it has begun and not ended; they end with it.
    var openTransactions = 0

    /// Whether documents have to be told of its end.
    var hasOpenWork: Bool { openTransactions > 0 || pendingOperations > 0 }

    package init(
        id: UInt64, pool: WorkerPool, head: InvocationHead, body: ByteBuffer, deadline: NIODeadline,
        completionKey: CompletionKey?, client: any InvocationClient
    ) {
        self.id = id
        self.pool = pool
        self.head = head
        self.body = body
        self.deadline = deadline
        self.completionKey = completionKey
        self.client = client
    }

    var link: WorkerLink? {
        switch state {
        case .queued, .ended: nil
        case .running(let link), .unwanted(let link, _), .abandoned(let link): link
        }
    }

    /// Whose places it takes while it waits.
    var caller: Caller? { head.auth.map { .user($0.id) } ?? address.map { .address($0.holder) } }

    /// Whether somebody still waits for what the handler sends.
    var isWanted: Bool {
        switch state {
        case .queued, .running: true
        case .unwanted, .abandoned, .ended: false
        }
    }
}

/// Who an invocation's answer is for. Called on the invocation's loop; nothing follows the end.
package protocol InvocationClient: AnyObject {
    /// The status and headers of an HTTP function's answer.
    func invocationSent(_ head: HTTPAnswerHead)
    /// A part of a streamed answer. `taken` is called once the client has it, so that more may be sent.
    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void)
    func invocationEnded(_ outcome: InvocationOutcome)
}

/// Who follows an invocation beyond its answer. Called on the invocation's loop.
package protocol InvocationObserver: AnyObject {
    /// The handler is started; again, where a worker has given it back before it began.
    func invocationStarted()
    /// No process runs the handler any more. The last that is told of an invocation, unless it was never started: then
    /// its answer may follow.
    func invocationOver(_ end: HandlerEnd)
}

/// How it came that no process runs a handler any more.
package enum HandlerEnd {
    case neverStarted
    case returned
    /// Its process ended first.
    case lost(WorkerEnd, wasAlone: Bool)
}

/// The delivery that an invocation is a try at. Belongs to the invocation's loop.
package final class InvocationDelivery {
    let lease: DeliveryLease
    /// The functions whose handling of events led to what the handler does, its own the last.
    let chain: [String]
    /// Whether a commit of the handler has ended the delivery.
    package var isDone = false

    package init(lease: DeliveryLease, chain: [String]) {
        self.lease = lease
        self.chain = chain
    }
}

package enum InvocationOutcome {
    /// The answer: a callable's result as JSON, or the end of an HTTP function's body.
    case result(ByteBuffer)
    case failure(InvocationFailure)
}
