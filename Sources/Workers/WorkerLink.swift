import DocumentModel
import FunctionManifest
import WorkerProtocol
import Logging
package import NIOCore

/// The host's end of one link: one worker, one loop.
///
/// `@unchecked Sendable`: every member but the constants is touched on `loop.eventLoop` only.
package final class WorkerLink: ChannelInboundHandler, OperationBytesTaker, @unchecked Sendable {
    package typealias InboundIn = ByteBuffer

    let loop: InvocationLoop
    package var eventLoop: any EventLoop { loop.eventLoop }
    /// `unowned`: the pool keeps a worker until all its links are closed.
    unowned let worker: Worker
    private let bytes: OperationBytes.Account
    private let frameBytes: OperationBytes.Account
    private(set) lazy var operations = LinkOperations(of: self, bytes)
    private lazy var incoming = IncomingFrame(of: self, frameBytes)
    private var channel: (any Channel)?
    private var parser = FrameParser()
    private var pending = ByteBuffer()
    /// What handlers may send more of, once the worker reads again.
    private var owed: [UInt64: Int] = [:]
    private var isReady = false
    private var hasViolated = false
    /// Whether the link isn't read because too many operations wait, because its next frame does, or because it rests.
    package private(set) var isPaused = false
    /// Whether the link isn't read for a while, because too many of its frames were dropped.
    private var isResting = false
    /// When an invocation of the link ended last.
    private(set) var lastEnd = NIODeadline.uptimeNanoseconds(0)

    /// Frames of so many bytes are written at once, and not with what the current turn of the loop sends later.
    private static let maxPending = 65_536

    init(
        loop: InvocationLoop, worker: Worker, bytes: OperationBytes.Account, frameBytes: OperationBytes.Account
    ) {
        self.loop = loop
        self.worker = worker
        self.bytes = bytes
        self.frameBytes = frameBytes
    }

    // MARK: To the worker

    func invoke(_ id: UInt64, _ head: InvocationHead, _ body: InvocationBody) {
        send(.invoke, id) { buffer in
            head.write(to: &buffer)
            body.write(to: &buffer)
        }
    }

    func cancel(_ id: UInt64, _ reason: CancellationReason) {
        send(.cancel, id) { $0.writeInteger(reason.rawValue) }
    }

    /// Asks for an invocation whose handler hasn't begun, so that it can run elsewhere.
    func recall(_ id: UInt64) { send(.recall, id) { _ in } }

    /// Recalls every invocation, the newest first: each goes to the head of the queue, so the oldest ends up first.
    func recallAll() {
        guard channel != nil else { return }
        for invocation in loop.carried(by: self) { invocation.recall() }
    }

    /// Lets the handler send more of a streamed answer.
    func credit(_ id: UInt64, _ bytes: Int) {
        guard channel != nil, bytes > 0 else { return }
        // A worker that doesn't read what it is sent could have any number of them wait.
        guard isWritable else {
            let owed = (owed[id] ?? 0).addingReportingOverflow(bytes)
            return self.owed[id] = owed.overflow ? .max : owed.partialValue
        }
        send(.credit, id) { $0.writeInteger(UInt32(clamping: bytes)) }
    }

    private func send(_ kind: Frame.Kind, _ invocation: UInt64, _ body: (inout ByteBuffer) -> Void) {
        // What the current turn of the loop sends leaves in one write.
        if pending.readableBytes == 0 { loop.eventLoop.execute { self.flush() } }
        pending.writeFrame(kind, invocation: invocation, body)
        if pending.readableBytes >= Self.maxPending { flush() }
    }

    private func flush() {
        guard let channel, pending.readableBytes > 0 else { return }
        let bytes = pending
        pending = ByteBuffer()
        let held = operations.writing()
        guard held > 0 else { return channel.writeAndFlush(bytes, promise: nil) }
        let promise = eventLoop.makePromise(of: Void.self)
        promise.futureResult.whenComplete { _ in self.operations.written(held) }
        channel.writeAndFlush(bytes, promise: promise)
    }

    func close() { channel?.close(promise: nil) }

    var isOpen: Bool { channel != nil }

    /// Whether the worker reads what is sent.
    var isWritable: Bool { channel?.isWritable ?? false }

    // MARK: From the worker

    package func channelActive(context: ChannelHandlerContext) { channel = context.channel }

    package func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        parser.append(&bytes)
        readFrames()
    }

    package func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable {
            let owed = owed
            self.owed = [:]
            for (id, bytes) in owed where loop[id]?.link === self { credit(id, bytes) }
            operations.begin()
        }
        context.fireChannelWritabilityChanged()
    }

    /// Handles what has arrived, until too many operations wait, the next frame has no memory, or the link rests. What
    /// is left stays in the parser and the worker's socket.
    private func readFrames() {
        do throws(ProtocolViolation) {
            while !hasViolated, mayRead, let frame = try parser.next() {
                incoming.arrived()
                try handle(frame)
            }
        } catch {
            violated(error)
        }
        // A frame holds its memory only while it arrives.
        if !hasViolated, mayRead, let length = parser.incompleteLength { incoming.begin(length) }
        guard !mayRead || incoming.isWaiting, !isPaused, let channel else { return }
        isPaused = true
        try? channel.syncOptions?.setOption(.autoRead, value: false)
    }

    /// Whether the worker's other frames let it send more.
    var mayRead: Bool { !operations.isFull && !isResting }

    /// Reads on, if the link is paused.
    func readAgain() {
        guard isPaused, !isResting, let channel else { return }
        isPaused = false
        readFrames()
        if !isPaused { try? channel.syncOptions?.setOption(.autoRead, value: true) }
    }

    /// A frame is dropped. After too many of them in a second, the link isn't read until the next one: only the worker
    /// that sends them waits.
    func waste(_ bytes: Int) {
        guard channel != nil, !isResting, let pause = worker.pause(afterWasting: bytes) else { return }
        isResting = true
        eventLoop.scheduleTask(in: pause) {
            self.isResting = false
            if !self.operations.isFull { self.readAgain() }
        }
    }

    /// The worker has broken the protocol.
    func violated(_ violation: ProtocolViolation) {
        hasViolated = true
        worker.kill(.violation("\(violation)"))
        close()
    }

    package func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    /// The process has ended or is about to be ended: its invocations on this link are lost, and only they.
    package func channelInactive(context: ChannelHandlerContext) {
        worker.broke()
        channel = nil
        isResting = false
        pending = ByteBuffer()
        owed = [:]
        operations.close()
        incoming.close()
        // What has arrived: the link was paused, or was closed by a write that failed while a frame was handled.
        readFrames()
        for invocation in loop.carried(by: self) { invocation.linkClosed(by: worker) }
        worker.linkClosed()
    }

    private func handle(_ frame: Frame) throws(ProtocolViolation) {
        var payload = frame.payload
        switch frame.kind {
        case .ready:
            let version = try payload.read(UInt16.self)
            guard Manifest.servedVersions.contains(Int(version)) else {
                throw ProtocolViolation(
                    "it speaks version \(version) of the protocol, the host speaks \(Manifest.servedWords); "
                        + "build the bundle with the host's FunctionsRuntime")
            }
            guard !isReady else { throw ProtocolViolation("it was ready twice") }
            isReady = true
            send(.params, 0) { worker.launch.params.write(to: &$0) }
            worker.linkBecameReady()
        case .log:
            // First, so that a flood isn't even decoded.
            guard worker.mayWriteLine(payload.readableBytes) else { return waste(payload.readableBytes) }
            let line = try LogLine(from: &payload)
            let invocation = loop[frame.invocation].flatMap { $0.link === self ? $0 : nil }
            worker.log(line, execution: invocation?.executionID)
        case .result:
            if let invocation = try invocation(frame) { end(invocation, invocation.bounded(payload)) }
        case .recalled:
            try invocation(frame)?.received(backWith: payload, from: worker)
        case .failure:
            let size = payload.readableBytes
            guard size <= InvocationFailure.maxFrame else {
                if let invocation = try invocation(frame) { end(invocation, invocation.oversizedFailure(size)) }
                return
            }
            var failure = try InvocationFailure(from: &payload)
            // The failure of an event is stored with its delivery and logged, so secrets are redacted first.
            let filter = worker.launch.secretFilter
            failure.message = filter.filtered(failure.message)
            failure.details = failure.details.flatMap { filter.filtered(json: $0) }
            failure.errorType = failure.errorType.map { LogLine.cut($0) }
            if let invocation = try invocation(frame) { end(invocation, .failure(failure)) }
        case .chunk:
            try invocation(frame)?.received(chunk: payload, from: self)
        case .httpHead:
            let head = try HTTPAnswerHead(from: &payload)
            guard (200...599).contains(head.status) else {
                throw ProtocolViolation("\(head.status) is not a status that an answer can have")
            }
            try invocation(frame)?.received(head)
        case .documentRequest:
            guard let invocation = try invocation(frame) else { return }
            let number = try payload.read(UInt32.self)
            operations.arrived(payload, number: number, of: invocation)
        case .invoke, .cancel, .documentResponse, .credit, .params, .recall:
            throw ProtocolViolation("a frame \(frame.kind) comes from the host only")
        }
    }

    /// The invocation of a frame, which must run in this worker. Nil if it has ended.
    private func invocation(_ frame: Frame) throws(ProtocolViolation) -> Invocation? {
        guard isReady else { throw ProtocolViolation("it spoke of an invocation before it was ready") }
        guard let invocation = loop[frame.invocation] else {
            waste(frame.payload.readableBytes)
            return nil
        }
        guard invocation.link === self else {
            throw ProtocolViolation("it spoke of invocation \(frame.invocation), which isn't its own")
        }
        return invocation
    }

    /// The handler has ended.
    func end(_ invocation: Invocation, _ outcome: InvocationOutcome) {
        lastEnd = loop.eventLoop.now
        invocation.end(outcome)
    }

    /// Bytes for the operation that waits. Called on any thread.
    func received(_ bytes: Int) { eventLoop.execute { self.operations.received(bytes) } }

    func respond(_ bytes: [UInt8], number: UInt32, to invocation: UInt64) {
        send(.documentResponse, invocation) {
            $0.reserveCapacity(minimumWritableBytes: bytes.count + 4)
            $0.writeInteger(number)
            $0.writeBytes(bytes)
        }
    }
}
