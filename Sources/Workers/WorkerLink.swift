import DocumentModel
import FunctionManifest
import WorkerProtocol
import Logging
package import NIOCore

/// The host's end of one link: one worker, one loop.
///
/// `@unchecked Sendable`: every member but the constants is touched on `loop.eventLoop` only.
package final class WorkerLink: ChannelInboundHandler, @unchecked Sendable {
    package typealias InboundIn = ByteBuffer

    let loop: InvocationLoop
    package var eventLoop: any EventLoop { loop.eventLoop }
    /// Outlives its links: a worker is let go only once all of them are closed.
    unowned let worker: Worker
    private var channel: (any Channel)?
    private var parser = FrameParser()
    private var pending = ByteBuffer()
    private var isReady = false
    /// When an invocation of the link ended last.
    private(set) var lastEnd = NIODeadline.uptimeNanoseconds(0)

    /// Operations that one invocation may have under way.
    private static let maxPendingOperations = 1000
    /// Bytes of a stream that its client hasn't taken, a part without any counted as one: the runtime doesn't count those.
    private static let maxUnread = Frame.initialCredit + 65_536

    init(loop: InvocationLoop, worker: Worker) {
        self.loop = loop
        self.worker = worker
    }

    // MARK: To the worker

    func invoke(_ invocation: Invocation) {
        let timeLeft = max(0, (invocation.deadline - loop.eventLoop.now).nanoseconds / 1_000_000)
        var head = invocation.head
        head.timeLeft = UInt32(clamping: timeLeft)
        send(.invoke, invocation.id) { buffer in
            head.write(to: &buffer)
            buffer.writeImmutableBuffer(invocation.body)
        }
        invocation.body = ByteBuffer()
    }

    func cancel(_ invocation: Invocation, reason: CancellationReason) {
        send(.cancel, invocation.id) { $0.writeInteger(reason.rawValue) }
    }

    /// Asks for what hasn't begun, so that it can run elsewhere.
    func recall(_ invocation: Invocation) {
        invocation.recallAt = .distantFuture
        send(.recall, invocation.id) { _ in }
    }

    /// The latest first: each that comes back is put before the others.
    func recallAll() {
        guard channel != nil else { return }
        let own = loop.invocations.values.filter { $0.link === self }
        for invocation in own.sorted(by: { $0.id > $1.id }) { recall(invocation) }
    }

    func send(_ kind: Frame.Kind, _ invocation: UInt64, _ body: (inout ByteBuffer) -> Void) {
        if pending.readableBytes == 0 { loop.flushSoon(self) }
        pending.writeFrame(kind, invocation: invocation, body)
    }

    func flush() {
        guard let channel, pending.readableBytes > 0 else { return }
        channel.writeAndFlush(pending, promise: nil)
        pending = ByteBuffer()
    }

    func close() { channel?.close(promise: nil) }

    var isOpen: Bool { channel != nil }

    // MARK: From the worker

    package func channelActive(context: ChannelHandlerContext) { channel = context.channel }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        parser.append(&bytes)
        do {
            while let frame = try parser.next() { try handle(frame) }
        } catch {
            worker.kill(.violation("\(error)"))
            context.close(promise: nil)
        }
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// The process has ended or is about to be ended: its invocations on this link are lost, and only they.
    package func channelInactive(context: ChannelHandlerContext) {
        worker.broke()
        channel = nil
        for invocation in Array(loop.invocations.values) where invocation.link === self {
            if invocation.isWanted {
                worker.logger.error(
                    "the worker ended before its handler did",
                    metadata: [
                        "execution.id": "\(invocation.head.executionID)",
                        "worker.end": "\(worker.reason?.description ?? "by itself")",
                    ])
            }
            loop.lost(invocation, by: worker)
        }
        worker.linkClosed()
    }

    private func handle(_ frame: Frame) throws(ProtocolViolation) {
        var payload = frame.payload
        switch frame.kind {
        case .ready:
            let version = try payload.read(UInt16.self)
            guard version == Frame.protocolVersion else {
                throw ProtocolViolation(
                    "it speaks version \(version) of the protocol, the host speaks \(Frame.protocolVersion); "
                        + "build the bundle with the host's FunctionsRuntime")
            }
            guard !isReady else { throw ProtocolViolation("it was ready twice") }
            isReady = true
            send(.params, 0) { worker.pool.launch.params.write(to: &$0) }
            worker.linkBecameReady()
        case .log:
            // First, so that a flood isn't even decoded.
            guard worker.mayWriteLine() else { return }
            let line = try LogLine(from: &payload)
            worker.log(line, execution: loop.invocations[frame.invocation]?.head.executionID)
        case .result:
            if let invocation = try invocation(frame) { end(invocation, bounded(payload, of: invocation)) }
        case .recalled:
            guard let invocation = try invocation(frame) else { return }
            guard invocation.recallAt == .distantFuture else {
                throw ProtocolViolation("it gave back an invocation that it wasn't asked for")
            }
            loop.recalled(invocation, body: payload, by: worker)
        case .failure:
            var failure = try InvocationFailure(from: &payload)
            // Of an event it is kept and logged.
            let filter = worker.pool.launch.secretFilter
            failure.message = filter.filtered(failure.message)
            failure.details = failure.details.map { filter.filtered($0) }
            if let invocation = try invocation(frame) { end(invocation, .failure(failure)) }
        case .chunk:
            guard let invocation = try invocation(frame) else { return }
            let size = payload.readableBytes
            guard size <= Frame.maxChunk, invocation.unreadBytes < Self.maxUnread else {
                throw ProtocolViolation("it sent more of a stream than its client has taken")
            }
            guard invocation.isWanted, let client = invocation.client else { return credit(invocation.id, size) }
            invocation.unreadBytes += max(size, 1)
            client.invocationSent(chunk: payload) { [weak invocation] in
                guard let invocation else { return }
                invocation.unreadBytes -= max(size, 1)
                self.credit(invocation.id, size)
            }
        case .httpHead:
            let head = try HTTPAnswerHead(from: &payload)
            guard (200...599).contains(head.status) else {
                throw ProtocolViolation("\(head.status) is no status that an answer can have")
            }
            if let invocation = try invocation(frame), invocation.isWanted { invocation.client?.invocationSent(head) }
        case .documentRequest:
            guard let invocation = try invocation(frame) else { return }
            let number = try payload.read(UInt32.self)
            try perform(Array(payload.readableBytesView), number: number, for: invocation)
        case .invoke, .cancel, .documentResponse, .credit, .params, .recall:
            throw ProtocolViolation("a frame \(frame.kind) comes from the host only")
        }
    }

    /// The invocation a frame speaks of: one that this worker was given. Nil where it has ended meanwhile.
    private func invocation(_ frame: Frame) throws(ProtocolViolation) -> Invocation? {
        guard isReady else { throw ProtocolViolation("it spoke of an invocation before it was ready") }
        guard let invocation = loop.invocations[frame.invocation] else { return nil }
        guard invocation.link === self else {
            throw ProtocolViolation("it spoke of invocation \(frame.invocation), which isn't its own")
        }
        return invocation
    }

    /// The answer, unless it is larger than it may be.
    private func bounded(_ answer: ByteBuffer, of invocation: Invocation) -> InvocationOutcome {
        let limit = worker.limits.responseBody
        guard answer.readableBytes > limit else { return .result(answer) }
        worker.logger.error(
            "an answer is larger than it may be",
            metadata: [
                "execution.id": "\(invocation.head.executionID)", "response.bytes": "\(answer.readableBytes)",
                "limits.responseBody": "\(limit)",
            ])
        return .failure(.internal)
    }

    private func end(_ invocation: Invocation, _ outcome: InvocationOutcome) {
        lastEnd = loop.eventLoop.now
        let wasAbandoned = if case .abandoned = invocation.state { true } else { false }
        loop.finish(invocation, outcome)
        worker.pool.ended(in: worker.id, wasAbandoned: wasAbandoned, on: loop)
    }

    private func credit(_ invocation: UInt64, _ bytes: Int) {
        guard channel != nil, bytes > 0 else { return }
        send(.credit, invocation) { $0.writeInteger(UInt32(clamping: bytes)) }
    }
}

// MARK: Documents

extension WorkerLink {
    private func perform(_ bytes: [UInt8], number: UInt32, for invocation: Invocation) throws(ProtocolViolation) {
        let request: DocumentRequest
        do {
            request = try DocumentRequest(decoding: bytes)
        } catch {
            throw ProtocolViolation("a document operation is malformed: \(error)")
        }
        let id = invocation.id
        guard invocation.isWanted else {
            let response = DocumentResponse.failed(DocumentError(.cancelled, "the invocation is over"))
            return respond(response.encoded, number: number, to: id)
        }
        guard invocation.pendingOperations < Self.maxPendingOperations else {
            let error = DocumentError(
                .resourceExhausted,
                "an invocation may have \(Self.maxPendingOperations) document operations under way, the limit")
            return respond(DocumentResponse.failed(error).encoded, number: number, to: id)
        }
        invocation.pendingOperations += 1
        if request.isBegin { invocation.openTransactions += 1 }
        let delivery = invocation.delivery
        let boundDelivery = delivery.map { NIOLoopBound($0, eventLoop: loop.eventLoop) }
        let context = OperationContext(
            owner: id, completion: invocation.completionKey, chain: delivery?.chain ?? [], delivery: delivery?.lease)
        let services = worker.pool.services
        services.documents.perform(request, in: context) { [self] response in
            let isKeyReused = request.isBegin && response.isInvalidArgument
            let endsTransaction = request.endsTransaction(with: response)
            let endsDelivery = request.completes(with: response)
            // Encoded on the store's thread: the loop has connections to serve.
            let bytes = response.encoded
            loop.eventLoop.execute {
                self.respond(bytes, number: number, to: id)
                // Its process may have been lost meanwhile; what it has done counts.
                if endsDelivery { boundDelivery?.value.isDone = true }
                guard let invocation = self.loop.invocations[id] else {
                    // It ended while its transaction was being begun.
                    if request.isBegin { services.documents.release(owner: id) }
                    return
                }
                invocation.pendingOperations -= 1
                if endsTransaction { invocation.openTransactions -= 1 }
                // A beginning has no other argument: the key was used with other data, which is the caller's mistake.
                if isKeyReused, case .failed(let error) = response, invocation.isWanted {
                    invocation.client?.invocationEnded(
                        .failure(InvocationFailure(code: error.code, message: error.message)))
                    self.loop.clientLeft(invocation)
                }
            }
        }
    }

    private func respond(_ bytes: [UInt8], number: UInt32, to invocation: UInt64) {
        guard channel != nil else { return }
        send(.documentResponse, invocation) {
            $0.writeInteger(number)
            $0.writeBytes(bytes)
        }
    }
}

extension DocumentRequest {
    fileprivate var isBegin: Bool { if case .begin = self { true } else { false } }

    /// Whether a transaction is over with this answer. One that was refused may be tried again, and is not.
    fileprivate func endsTransaction(with response: DocumentResponse) -> Bool {
        switch (self, response) {
        case (.begin, .completed), (.commit(_, transaction: .some, _, _), .committed),
            (.commit(_, transaction: .some, _, _), .completed), (.rollback, .rolledBack), (.rollback, .completed):
            true
        default: false
        }
    }
}

extension DocumentRequest {
    /// Whether the handler's work is done with this answer: it was committed as a whole.
    fileprivate func completes(with response: DocumentResponse) -> Bool {
        if case (.commit(_, _, .some, _), .committed) = (self, response) { true } else { false }
    }
}

extension DocumentResponse {
    fileprivate var isInvalidArgument: Bool {
        if case .failed(let error) = self { error.code == .invalidArgument } else { false }
    }
}
