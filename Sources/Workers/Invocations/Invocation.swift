import DocumentModel
import FunctionManifest
import Logging
import WorkerProtocol
import NIOCore

/// One run of a handler, as the host sees it. Lives on one loop.
///
/// It owns its end: ``end(_:)`` answers the client, releases what the handler holds, settles the budget and frees the
/// place in the worker.
package final class Invocation {
    private enum State {
        /// Waits for a worker in the pool's queue.
        case queued
        /// Out of the pool's queue without having been started: it ends now.
        case dequeued
        case running(WorkerLink)
        /// Answered before its handler ended: the deadline passed or the client left. Its place in the worker stays
        /// taken until the handler ends or, after `giveUpAt`, the invocation is abandoned.
        case unwanted(WorkerLink, giveUpAt: NIODeadline)
        /// Its handler doesn't stop. The worker is killed as soon as it runs nothing else.
        case abandoned(WorkerLink)
        /// Its link is closed, and a commit of all its work is under way: the client waits for that, until the deadline.
        /// Contains the end of the worker's process once that has ended.
        case committing(InvocationOutcome?)
        /// Its link is closed. It ends with the worker's process, which may still run the handler.
        case lost
        case ended
    }

    package let id: UInt64
    private let function: ServedFunction
    private let loop: InvocationLoop
    private var head: InvocationHead
    private let deadline: NIODeadline
    private let admittedAt: NIODeadline
    /// The status of an HTTP function's response, once it is known.
    private var httpStatus: UInt16?
    let address: IPAddress?
    private var completionKey: CompletionKey?
    private let delivery: InvocationDelivery?
    /// Until it is answered or has left.
    private var client: (any InvocationClient)?
    /// Until the invocation has ended or the client has left.
    private var onEnd: ((InvocationOutcome) -> Void)?
    /// The request's body, until it is sent to a worker.
    private var body: InvocationBody
    private var state = State.queued
    /// When its handler was started last; nil if it wasn't or was taken back.
    private var startedAt: NIODeadline?
    /// When the invocation is recalled if its handler hasn't started.
    private var recallAt = NIODeadline.distantFuture
    /// Bytes of its streamed answer that the client hasn't taken yet.
    private var unreadBytes = 0
    private var documents = DocumentWork()
    private var hasClientLeft = false
    private let cancellation = OperationCancellation()

    /// How long a handler may go on after its deadline.
    static let overdueGrace = TimeAmount.seconds(2)
    /// The time in which a handler should start. After it, other handlers are probably blocking the worker's threads.
    static let beginTime = TimeAmount.milliseconds(500)
    /// The maximum of unread stream bytes. An empty chunk counts as one byte, because it uses none of the worker's
    /// credit.
    private static let maxUnread = Frame.initialCredit + 65_536

    init(
        _ request: InvocationRequest, of function: ServedFunction, user: InvocationHead.VerifiedIdentity?,
        address: IPAddress?, for client: any InvocationClient, on loop: InvocationLoop
    ) {
        id = loop.nextID()
        self.function = function
        self.loop = loop
        self.address = address
        self.client = client
        var head = request.head
        head.executionID = ExecutionID.next()
        head.auth = user
        head.address = address
        self.head = head
        body = request.body
        completionKey = request.completionKey
        delivery = request.delivery
        onEnd = request.onEnd
        let timeout = min(function.manifest.timeoutSeconds, request.timeoutSeconds ?? .max)
        admittedAt = loop.eventLoop.now
        deadline = admittedAt + .seconds(Int64(timeout))
    }

    package var executionID: String { head.executionID }

    private var pool: WorkerPool { function.pool }

    /// The caller whose share of the pool's queue it uses.
    var caller: Caller? { head.auth.map { .user($0.id) } ?? address.map { .address($0.holder) } }

    /// Whether the client still waits for what the handler sends.
    var isWanted: Bool {
        switch state {
        case .queued, .dequeued, .running, .committing: true
        case .unwanted, .abandoned, .lost, .ended: false
        }
    }

    var isQueued: Bool { if case .queued = state { true } else { false } }

    var link: WorkerLink? {
        switch state {
        case .queued, .dequeued, .committing, .lost, .ended: nil
        case .running(let link), .unwanted(let link, _), .abandoned(let link): link
        }
    }

    // MARK: From the pool

    /// Starts the handler in a worker that has a place for it.
    func start(in worker: Worker) {
        let link = worker.links[loop.index]
        // The worker died between the pool's decision and this call. The pool already knows, and gives the invocation the
        // next place: it was admitted before.
        guard link.isOpen, worker.began(executionID) else {
            return pool.recalled(self, from: worker.id, wasAbandoned: false, on: loop)
        }
        let now = loop.eventLoop.now
        state = .running(link)
        startedAt = now
        recallAt = now + Self.beginTime
        var head = head
        head.timeLeft = UInt32(clamping: max(0, (deadline - now).nanoseconds / 1_000_000))
        link.invoke(id, head, body)
        body = .bytes(ByteBuffer())
        client?.invocationStarted()
    }

    func refuse(_ failure: InvocationFailure) {
        guard case .queued = state else { return }
        state = .dequeued
        end(.notStarted(failure))
    }

    // MARK: From the client

    /// The client has left: the handler is cancelled, and has until its deadline to stop. Work that was or is being claimed
    /// under an idempotency key goes on instead, because the client will ask for its answer again.
    package func clientLeft() {
        client = nil
        onEnd = nil
        hasClientLeft = true
        if isWanted, documents.isClaimed { return }
        stop(.cancelled, .clientGone, giveUpAt: deadline + Self.overdueGrace)
    }

    // MARK: From the link

    func received(_ head: HTTPAnswerHead) {
        guard isWanted else { return }
        let size = head.headers.encoded.readableBytes
        // A bundle that was built with an older FunctionsRuntime doesn't check its headers.
        guard size <= HTTPAnswerHead.maxHeaderBytes else {
            (link?.worker.logger ?? pool.logger).error(
                "the headers of an answer are larger than they may be",
                metadata: ["execution.id": "\(executionID)", "headers.bytes": "\(size)"])
            return stop(.internal, .clientGone, giveUpAt: deadline + Self.overdueGrace)
        }
        httpStatus = head.status
        client?.invocationSent(head)
    }

    /// A part of a streamed answer.
    func received(chunk: ByteBuffer, from link: WorkerLink) throws(ProtocolViolation) {
        let size = chunk.readableBytes
        guard size <= Frame.maxChunk, unreadBytes < Self.maxUnread else {
            throw ProtocolViolation("it sent more of a stream than its client has taken")
        }
        guard isWanted, let client else {
            link.waste(0)
            return link.credit(id, size)
        }
        unreadBytes += max(size, 1)
        client.invocationSent(chunk: chunk) { [weak self, id] in
            guard let self else { return }
            unreadBytes -= max(size, 1)
            link.credit(id, size)
        }
    }

    /// The worker gave the invocation back before its handler began: it runs elsewhere, if the client still waits.
    func received(backWith body: ByteBuffer, from worker: Worker) throws(ProtocolViolation) {
        guard recallAt == .distantFuture else {
            throw ProtocolViolation("it gave back an invocation that it wasn't asked for")
        }
        worker.returned(executionID)
        startedAt = nil
        link?.operations.end(id)
        guard case .running = state else { return end(.notStarted(.cancelled)) }
        state = .queued
        self.body = .bytes(body)
        pool.recalled(self, from: worker.id, wasAbandoned: false, on: loop)
    }

    /// Its link is closed: the client is answered now, unless its work may be committed in this moment, and the end follows
    /// that of the process.
    func linkClosed(by worker: Worker) {
        if isWanted { worker.lost(executionID) }
        if isWanted, delivery == nil, documents.isCompleting {
            state = .committing(nil)
        } else {
            lose(.failure(.internal))
        }
        worker.ended(executionID)
        let this = NIOLoopBound(self, eventLoop: loop.eventLoop)
        worker.whenGone { [eventLoop = loop.eventLoop] end, wasAlone in
            eventLoop.execute { this.value.processGone(.lost(end, wasAlone: wasAlone)) }
        }
    }

    private func processGone(_ outcome: InvocationOutcome) {
        if case .committing = state { state = .committing(outcome) } else { end(outcome) }
    }

    /// Its process is lost, and nothing is left to wait for: the client is answered if it still waits.
    private func lose(_ outcome: InvocationOutcome) {
        let wasWanted = isWanted
        state = .lost
        releaseDocuments()
        if wasWanted { answer(outcome) }
    }

    // MARK: From the clock

    enum Due {
        /// Its time is over.
        case deadline
        /// It was cancelled, was given time, and hasn't stopped.
        case giveUp
        /// Its handler should have begun.
        case recall
    }

    func due(at now: NIODeadline) -> Due? {
        switch state {
        case .queued, .committing: return deadline <= now ? .deadline : nil
        case .running(let link):
            if deadline <= now { return .deadline }
            guard recallAt <= now else { return nil }
            // A worker that completes other invocations is busy, not blocked: a waiting handler will start soon.
            let begins = link.lastEnd + Self.beginTime
            guard begins > now else { return .recall }
            recallAt = begins
            return nil
        case .unwanted(_, let giveUpAt): return giveUpAt <= now ? .giveUp : nil
        case .dequeued, .abandoned, .lost, .ended: return nil
        }
    }

    func handle(_ due: Due) {
        switch due {
        case .deadline:
            stop(.deadlineExceeded, .deadline, giveUpAt: loop.eventLoop.now + Self.overdueGrace)
        case .giveUp:
            guard case .unwanted(let link, _) = state else { return }
            state = .abandoned(link)
            pool.abandoned(in: link.worker.id, on: loop)
        case .recall: recall()
        }
    }

    /// Asks the worker to give it back unless its handler has begun.
    func recall() {
        guard let link else { return }
        recallAt = .distantFuture
        link.recall(id)
    }

    // MARK: Its answer and its end

    /// Answers the client before the handler has ended, if it still waits, and cancels the handler.
    func stop(_ failure: InvocationFailure, _ reason: CancellationReason, giveUpAt: NIODeadline) {
        switch state {
        case .queued:
            pool.withdraw(self, on: loop)
            state = .dequeued
            end(.notStarted(failure))
        case .running(let link):
            state = .unwanted(link, giveUpAt: giveUpAt)
            link.operations.end(id)
            releaseDocuments()
            link.cancel(id, reason)
            answer(.failure(failure))
            // The handler may go on for long: what the request was isn't needed any more.
            head = InvocationHead(executionID: executionID, timeLeft: 0)
        case .committing(let gone):
            lose(.failure(failure))
            if let gone { end(gone) }
        case .dequeued, .unwanted, .abandoned, .lost, .ended: break
        }
    }

    /// A handler's answer, unless it is larger than it may be.
    func bounded(_ answer: ByteBuffer) -> InvocationOutcome {
        let limit = pool.launch.limits.responseBody
        guard answer.readableBytes > limit else { return .result(answer) }
        (link?.worker.logger ?? pool.logger).error(
            "an answer is larger than it may be",
            metadata: [
                "execution.id": "\(executionID)", "response.bytes": "\(answer.readableBytes)",
                "limits.responseBody": "\(limit)",
            ])
        return .failure(.internal)
    }

    /// A handler's failure that is larger than it may be.
    func oversizedFailure(_ bytes: Int) -> InvocationOutcome {
        (link?.worker.logger ?? pool.logger).error(
            "an error is larger than it may be",
            metadata: ["execution.id": "\(executionID)", "error.bytes": "\(bytes)"])
        return .failure(.internal)
    }

    /// Ends the invocation: no process runs its handler any more. Everything that follows from an end happens here.
    func end(_ outcome: InvocationOutcome) {
        if case .ended = state { return }
        let (wasWanted, last) = (isWanted, state)
        state = .ended
        loop.remove(self)
        releaseDocuments()
        settleBudget(outcome)
        if wasWanted { answer(outcome) }
        let onEnd = onEnd
        self.onEnd = nil
        onEnd?(outcome)
        switch last {
        case .running(let link), .unwanted(let link, _):
            link.operations.end(id)
            freePlace(in: link.worker, outcome, wasAbandoned: false)
        case .abandoned(let link): freePlace(in: link.worker, outcome, wasAbandoned: true)
        case .queued, .dequeued, .committing, .lost, .ended: break
        }
    }

    /// Answers the client and lets go of it, with the request that it holds.
    private func answer(_ outcome: InvocationOutcome) {
        // The other release's attempt counts.
        if outcome.failure != .displaced { record(outcome) }
        let client = client
        self.client = nil
        client?.invocationAnswered(outcome)
    }

    /// Counts the call and has it logged. A call whose deadline passed always is, because its function may have logged
    /// nothing. A failed attempt at a delivery is logged with what follows from it.
    private func record(_ outcome: InvocationOutcome) {
        let now = loop.eventLoop.now
        let failure = outcome.failure
        var record = CallRecord(
            function: function.manifest.name, status: failure.map { .failed($0.code) } ?? .ok,
            executionID: executionID, user: head.auth?.id, ended: now,
            duration: now - admittedAt, wait: startedAt.map { $0 - admittedAt })
        let isHTTP = if case .http = function.manifest.trigger { true } else { false }
        if isHTTP, failure == nil, let httpStatus { record.status = .http(httpStatus) }
        function.calls.add(record)
        let services = pool.services
        guard services.recordCalls != nil, delivery == nil || failure == nil,
            services.recordsAllCalls || failure?.code == .deadlineExceeded
        else { return }
        if isHTTP {
            record.request = (head.method, CallRecord.path(of: head.target, without: pool.launch.secretFilter))
        }
        loop.log(record, services)
    }

    private func freePlace(in worker: Worker, _ outcome: InvocationOutcome, wasAbandoned: Bool) {
        if outcome.wasStarted {
            worker.ended(executionID)
            pool.ended(in: worker.id, wasAbandoned: wasAbandoned, on: loop)
        } else {
            pool.recalled(nil, from: worker.id, wasAbandoned: wasAbandoned, on: loop)
        }
    }

    private func settleBudget(_ outcome: InvocationOutcome) {
        guard function.gate.hasBudget else { return }
        let now = loop.eventLoop.now
        if let startedAt { function.gate.spent(microseconds: (now - startedAt).nanoseconds / 1000) }
        if !outcome.wasStarted { function.gate.refund(age: (now - admittedAt).nanoseconds / 1000) }
    }
}

// MARK: Documents

extension Invocation {
    static let isOver = DocumentError(.cancelled, "the invocation is over")

    /// Counts an operation among the pending ones, until it is performed or dropped.
    ///
    /// - Returns: why it is refused; nil if it isn't.
    func admitOperation() -> DocumentError? {
        guard isWanted else { return Self.isOver }
        guard documents.begin() else {
            return DocumentError(
                .resourceExhausted,
                "an invocation may have \(DocumentWork.maxPending) document operations under way, the limit")
        }
        return nil
    }

    func dropOperation() { documents.end(DocumentWork.Result()) }

    var decodeLarge: @Sendable (@escaping @Sendable () -> Void) -> Void { pool.services.decodeLarge }

    /// Performs an admitted operation of the handler.
    ///
    /// - Parameter respond: called on the loop with the encoded answer; nil if the operation must be performed again,
    ///   because its answer needs more bytes than it holds.
    func perform(
        _ request: DocumentRequest, _ operation: WorkerOperation, respond: @escaping @Sendable ([UInt8]?) -> Void
    ) {
        let key = request.completionKey(&completionKey, isTransactional: function.manifest.isTransactional)
        let context = OperationContext(
            owner: id, completion: key, chain: delivery?.chain ?? [], delivery: delivery?.lease,
            cancellation: cancellation, answer: operation)
        if request.completing != nil { documents.beginCompletion() }
        if request.isClaim { documents.beginClaim() }
        let this = NIOLoopBound(self, eventLoop: loop.eventLoop)
        request.perform(on: pool.services.backends, in: context) {
            [
                eventLoop = loop.eventLoop, isClaim = request.isClaim, endsTransaction = request.endsTransaction,
                completing = request.completing
            ] response in
            // Encoded on the store's thread, because the loop has connections to serve; on the loop only for the few small
            // documents that the store answers with at once.
            let bytes = operation.answer(response)
            let result = DocumentWork.Result(
                response, isClaim: isClaim, endsTransaction: endsTransaction, completing: completing)
            eventLoop.execute {
                respond(bytes)
                if bytes != nil { this.value.performed(result) }
            }
        }
    }

    private func performed(_ result: DocumentWork.Result) {
        documents.end(result)
        if let commit = result.completion { ended(commit) }
        guard isWanted else {
            // The handler can't use it any more: a transaction would hold up others, and an observation never end.
            if result.transactions == .began || result.beginsObservation { releaseDocuments() }
            return
        }
        if result.isKeyReused { return stop(.keyReused, .clientGone, giveUpAt: deadline + Self.overdueGrace) }
        // It went on only for its claim.
        if hasClientLeft, result.claim == .refused, result.isFailed, !documents.isClaimed {
            stop(.cancelled, .clientGone, giveUpAt: deadline + Self.overdueGrace)
        }
    }

    /// A commit that completes the handler's work has ended. If it succeeded, it counts even if the process was lost
    /// meanwhile, and the handler has nothing left to do: neither the client nor the next invocation waits for its end.
    private func ended(_ commit: DocumentWork.Completion) {
        if case .committed(let response) = commit {
            delivery?.isDone = true
            if let link { return link.end(self, bounded(ByteBuffer(bytes: response))) }
        }
        guard case .committing(let gone) = state, !documents.isCompleting else { return }
        switch commit {
        case .committed(let response), .completed(let response): lose(bounded(ByteBuffer(bytes: response)))
        case .keyReused: lose(.failure(.keyReused))
        case .refused: lose(.failure(.internal))
        }
        if let gone { end(gone) }
    }

    /// Rolls back the transactions that the handler has open, and gives up its operations.
    private func releaseDocuments() {
        guard documents.release() else { return }
        cancellation.cancel()
        pool.services.backends.release(owner: id)
    }
}
