import NIOCore
import Synchronization
import WorkerProtocol

/// Writes frames from any thread, and what comes together in one system call.
///
/// Whoever comes while nobody writes does it, for itself and for all who come meanwhile: a frame costs no wake-up of
/// another thread, and under load one call carries many frames.
final class LinkWriter: Sendable {
    fileprivate struct State {
        var pending = ByteBuffer()
        var isWriting = false
        var droppedLines = 0
    }

    /// Log lines beyond this many unsent bytes are dropped, and counted: a handler that logs faster than the host reads
    /// costs its own lines and no memory.
    private static let maxUnsentLogBytes = 1_048_576

    private let descriptor: Int32
    private let state = Mutex(State())

    /// - Parameter descriptor: a blocking socket. While the host is slow to read, the one thread that writes waits.
    init(descriptor: Int32) { self.descriptor = descriptor }

    func send(_ kind: Frame.Kind, invocation: UInt64 = 0, _ body: (inout ByteBuffer) -> Void = { _ in }) {
        write { $0.pending.writeFrame(kind, invocation: invocation, body) }
    }

    func sendLog(_ line: LogLine, invocation: UInt64) {
        write { state in
            guard state.pending.readableBytes < Self.maxUnsentLogBytes else {
                state.droppedLines += 1
                return
            }
            if state.droppedLines > 0 {
                let note = LogLine(
                    level: 4, label: line.label, message: "log lines were dropped",
                    metadata: ["log.dropped": "\(state.droppedLines)"])
                state.droppedLines = 0
                state.pending.writeFrame(.log, invocation: invocation) { note.write(to: &$0) }
            }
            state.pending.writeFrame(.log, invocation: invocation) { line.write(to: &$0) }
        }
    }

    private func write(_ add: (inout State) -> Void) {
        var bytes: ByteBuffer? = state.withLock { state in
            add(&state)
            return state.isWriting ? nil : state.next()
        }
        while let next = bytes {
            // Where the host is gone the reader finds out, and ends the process.
            _ = next.withUnsafeReadableBytes { ProcessControl.write($0, to: descriptor) }
            bytes = state.withLock { $0.next() }
        }
    }
}

extension LinkWriter.State {
    /// What is to be written now; nil where there is nothing, and then nobody writes.
    fileprivate mutating func next() -> ByteBuffer? {
        isWriting = pending.readableBytes > 0
        guard isWriting else { return nil }
        defer { pending = ByteBuffer() }
        return pending
    }
}
