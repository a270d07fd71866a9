import DocumentModel
import NIOCore
import WorkerProtocol

/// Reads one link: starts handlers, hands them what they wait for, and ends the process with the link.
final class WorkerLinkHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let function: Function
    private let database: DatabaseID
    private let writer: LinkWriter
    private var parser = FrameParser()
    private var running: [UInt64: WorkerInvocation] = [:]

    init(function: Function, database: DatabaseID, writer: LinkWriter) {
        self.function = function
        self.database = database
        self.writer = writer
    }

    func channelActive(context: ChannelHandlerContext) {
        writer.send(.ready) { $0.writeInteger(Frame.protocolVersion) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var bytes = unwrapInboundIn(data)
        parser.append(&bytes)
        do {
            while let frame = try parser.next() { try handle(frame, loop: context.eventLoop) }
        } catch {
            StandardError.write("the host broke the link's protocol: \(error)\n")
            ProcessControl.exit(76)
        }
    }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        if context.channel.isWritable { writer.flush() }
    }

    /// The host has closed the link, having no more use for the worker, or has died: nobody waits for what still runs.
    func channelInactive(context: ChannelHandlerContext) { ProcessControl.exit(0) }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { ProcessControl.exit(0) }

    private func handle(_ frame: Frame, loop: any EventLoop) throws(ProtocolViolation) {
        var payload = frame.payload
        switch frame.kind {
        case .invoke:
            let head = try InvocationHead(from: &payload)
            let invocation = WorkerInvocation(id: frame.invocation, database: database, writer: writer)
            running[frame.invocation] = invocation
            let box = NIOLoopBound(self, eventLoop: loop)
            invocation.start(function, head: head, body: payload) {
                loop.execute { box.value.running[frame.invocation] = nil }
            }
        case .cancel:
            running[frame.invocation]?.cancel()
        case .documentResponse:
            let number = try payload.read(UInt32.self)
            running[frame.invocation]?.receive(number, Array(payload.readableBytesView))
        case .credit:
            running[frame.invocation]?.receiveCredit(Int(try payload.read(UInt32.self)))
        case .ready, .result, .failure, .chunk, .httpHead, .documentRequest, .log:
            throw ProtocolViolation("a frame \(frame.kind) comes from workers only")
        }
    }
}
