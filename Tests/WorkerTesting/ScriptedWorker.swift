package import NIOCore
import NIOEmbedded
package import WorkerProtocol
package import Workers

/// A worker's far end of its link, as the test writes it.
///
/// `@unchecked Sendable`: used on the thread of its embedded loop only.
package final class ScriptedWorker: WorkerProcess, @unchecked Sendable {
    /// What the host has of it.
    package let worker: Worker
    private unowned let processes: ScriptedProcesses
    private let channel: EmbeddedChannel
    private let socket = ScriptedSocket()
    /// What the host hasn't read, because the link is paused.
    private var unread = ByteBuffer()
    private var parser = FrameParser()
    private var known: [UInt64: ScriptedInvocation] = [:]
    private var waiting: [ScriptedInvocation] = []
    /// All frames that have come, in order.
    package private(set) var frames: [Frame] = []
    package private(set) var isRunning = true
    /// Why the host says that it has ended; nil before.
    package private(set) var end: WorkerEnd?

    init(_ worker: Worker, by processes: ScriptedProcesses) {
        self.worker = worker
        self.processes = processes
        channel = EmbeddedChannel(handlers: [socket, worker.links[0]], loop: processes.loop)
    }

    func connect() {
        worker.started(self)
        channel.connect(to: .loopback, promise: nil)
    }

    /// Whether the host still holds its end of the link.
    package var isLinked: Bool { channel.isActive }

    // MARK: From the host

    /// Stops reading what the host sends.
    package func stopReading() { socket.stopReading() }

    package func readAgain() { socket.readAgain() }

    /// Bytes that the host couldn't write, because the worker doesn't read.
    package var unwrittenBytes: Int { socket.unreadBytes }

    func receive() -> Bool {
        var hasRead = deliver()
        while let read = try? channel.readOutbound(as: ByteBuffer.self) {
            var bytes = read
            hasRead = true
            parser.append(&bytes)
            do {
                while let frame = try parser.next() { try handle(frame) }
            } catch {
                fatalError("the host sent a malformed frame: \(error)")
            }
        }
        return hasRead
    }

    private func handle(_ frame: Frame) throws {
        frames.append(frame)
        var payload = frame.payload
        let invocation = known[frame.invocation]
        switch frame.kind {
        case .invoke:
            let head = try InvocationHead(from: &payload)
            let invocation = ScriptedInvocation(frame.invocation, head, body: payload, worker: self)
            known[frame.invocation] = invocation
            if let handler = processes.handler { handler(invocation) } else { waiting.append(invocation) }
        case .cancel: invocation?.cancellation = CancellationReason(rawValue: try payload.read(UInt8.self))
        case .recall: invocation?.isRecalled = true
        case .credit: invocation?.credit += Int(try payload.read(UInt32.self))
        case .documentResponse:
            let number = try payload.read(UInt32.self)
            invocation?.responses[number] = Array(payload.readableBytesView)
        default: break
        }
    }

    /// The invocation that came first of those that the test hasn't taken.
    package func next() -> ScriptedInvocation? { waiting.isEmpty ? nil : waiting.removeFirst() }

    // MARK: To the host

    package func sendReady(version: UInt16 = Frame.protocolVersion) {
        send(.ready) { $0.writeInteger(version) }
    }

    package func send(_ kind: Frame.Kind, _ invocation: UInt64 = 0, _ body: (inout ByteBuffer) -> Void = { _ in }) {
        var bytes = ByteBuffer()
        bytes.writeFrame(kind, invocation: invocation, body)
        send(bytes)
    }

    /// Sends bytes, which may be malformed frames.
    package func send(_ bytes: ByteBuffer) {
        unread.writeImmutableBuffer(bytes)
        _ = deliver()
    }

    /// Bytes that the host doesn't read.
    package var unreadBytes: Int { unread.readableBytes }

    /// - Returns: whether the host has read what was sent.
    private func deliver() -> Bool {
        var isRead = false
        // As much at once as a socket gives.
        while channel.isActive, !worker.links[0].isPaused,
            let bytes = unread.readSlice(length: min(unread.readableBytes, 1 << 20)), bytes.readableBytes > 0
        {
            do { try channel.writeInbound(bytes) } catch { fatalError("the link threw \(error)") }
            isRead = true
        }
        return isRead
    }

    package func log(_ line: LogLine, _ invocation: UInt64 = 0) { send(.log, invocation) { line.write(to: &$0) } }

    /// Closes the link while the process goes on.
    package func closeLink() { channel.close(promise: nil) }

    /// The process ends by itself, and its link with it.
    package func crash(signal: Int32 = 4) { exit(.signalled(signal)) }

    /// The host stops, and kills it.
    package func shutDown() { worker.kill(.shutdown) }

    private func exit(_ outcome: ProcessStatus.Outcome) {
        guard isRunning else { return }
        isRunning = false
        worker.processEnded(ProcessStatus(outcome: outcome, cpuMicroseconds: 0, maxResidentKiB: 0))
        channel.close(promise: nil)
    }

    // MARK: WorkerProcess

    package func kill() { processes.loop.execute { [self] in exit(.signalled(9)) } }

    package func markActive() {}

    package func workerEnded(_ end: WorkerEnd) {
        self.end = end
        isRunning = false
    }
}

extension SocketAddress {
    /// Names no socket: embedded channels connect to anything.
    static var loopback: SocketAddress {
        do { return try SocketAddress(ipAddress: "127.0.0.1", port: 50_000) } catch { fatalError("\(error)") }
    }
}
