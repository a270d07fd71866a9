import DocumentModel
import Dispatch
import NIOCore
import Synchronization
import FunctionManifest
import WorkerProtocol

/// Reads a link on a dedicated thread: starts handlers, passes responses to them, and ends the process with the link.
final class LinkReader: Sendable {
    private static let smallRead = 16_384
    private static let largeRead = 1_048_576

    private let descriptor: Int32
    private let function: Function
    private let database: DatabaseID
    private let writer: LinkWriter
    private let running = RunningInvocations()
    /// For what might write to the link, or run the author's code. The thread that reads must do neither: while the host
    /// waits for answers to be read, it may not read itself.
    private let replies = DispatchQueue(label: "link.replies")

    init(descriptor: Int32, function: Function, database: DatabaseID, writer: LinkWriter) {
        self.descriptor = descriptor
        self.function = function
        self.database = database
        self.writer = writer
    }

    /// Reads until the host closes the link, because it has retired the worker or has died. Then the worker ends with
    /// all that its handlers have started: a host that has died can't do that any more.
    func run() -> Never {
        writer.send(.ready) { $0.writeInteger(Frame.protocolVersion) }
        var parser = FrameParser()
        var size = Self.smallRead
        while true {
            var bytes = ByteBuffer()
            let count = bytes.writeWithUnsafeMutableBytes(minimumWritableBytes: size) {
                ProcessControl.read(descriptor, into: $0)
            }
            guard count > 0 else { ProcessControl.exitWithGroup() }
            // A full read is probably followed by more: a large body.
            size = count >= size ? Self.largeRead : Self.smallRead
            parser.append(&bytes)
            do {
                while let frame = try parser.next() { try handle(frame) }
            } catch {
                StandardError.write("the host violated the worker protocol: \(error)\n")
                ProcessControl.exit(76)
            }
        }
    }

    private func handle(_ frame: Frame) throws(ProtocolViolation) {
        var payload = frame.payload
        switch frame.kind {
        case .invoke:
            let head = try InvocationHead(from: &payload)
            let invocation = WorkerInvocation(
                id: frame.invocation, body: payload, database: database, writer: writer)
            running[frame.invocation] = invocation
            invocation.start(function, head: head, body: payload) { [running] in
                running[frame.invocation] = nil
            }
        case .params:
            ParamStore.set(try ParamValues(from: &payload))
        case .cancel:
            guard let invocation = invocation(frame) else { return }
            replies.async { invocation.cancel() }
        case .recall:
            guard let body = invocation(frame)?.recall() else { return }
            running[frame.invocation] = nil
            replies.async { [writer] in
                writer.send(.recalled, invocation: frame.invocation) { $0.writeImmutableBuffer(body) }
            }
        case .documentResponse:
            let number = try payload.read(UInt32.self)
            invocation(frame)?.receive(number, Array(payload.readableBytesView))
        case .credit:
            let bytes = Int(try payload.read(UInt32.self))
            guard let response = invocation(frame)?.response, response.receiveCredit(bytes) else { return }
            replies.async { response.sendGathered() }
        case .ready, .result, .failure, .chunk, .httpHead, .documentRequest, .log, .recalled:
            throw ProtocolViolation("only workers send \(frame.kind) frames")
        }
    }

    private func invocation(_ frame: Frame) -> WorkerInvocation? { running[frame.invocation] }
}

/// The invocations running for one link. Each is removed by the thread on which its handler ends.
private final class RunningInvocations: Sendable {
    private let invocations = Mutex<[UInt64: WorkerInvocation]>([:])

    subscript(_ id: UInt64) -> WorkerInvocation? {
        get { invocations.withLock { $0[id] } }
        set { invocations.withLock { $0[id] = newValue } }
    }
}
