import NIOCore
import Synchronization
import WorkerProtocol

/// Gathers frames from any thread and writes what has come together in one system call.
final class LinkWriter: Sendable {
    fileprivate struct State {
        var pending = ByteBuffer()
        var isFlushScheduled = false
        var droppedLines = 0
    }

    /// Log lines beyond this many unsent bytes are dropped, and counted: a handler that logs faster than the host reads
    /// costs its own lines and no memory.
    private static let maxUnsentLogBytes = 1_048_576

    private let channel: any Channel
    private let state = Mutex(State())

    init(channel: any Channel) { self.channel = channel }

    /// Adds a frame, to be written with whatever else is added until the loop comes to it.
    func send(_ kind: Frame.Kind, invocation: UInt64 = 0, _ body: (inout ByteBuffer) -> Void = { _ in }) {
        let mustSchedule = state.withLock { state in
            state.pending.writeFrame(kind, invocation: invocation, body)
            return state.scheduleFlush()
        }
        if mustSchedule { channel.eventLoop.execute { self.flush() } }
    }

    func sendLog(_ line: LogLine, invocation: UInt64) {
        let mustSchedule = state.withLock { state in
            guard state.pending.readableBytes < Self.maxUnsentLogBytes else {
                state.droppedLines += 1
                return false
            }
            if state.droppedLines > 0 {
                let note = LogLine(
                    level: 4, label: line.label, message: "log lines were dropped",
                    metadata: ["log.dropped": "\(state.droppedLines)"])
                state.droppedLines = 0
                state.pending.writeFrame(.log, invocation: invocation) { note.write(to: &$0) }
            }
            state.pending.writeFrame(.log, invocation: invocation) { line.write(to: &$0) }
            return state.scheduleFlush()
        }
        if mustSchedule { channel.eventLoop.execute { self.flush() } }
    }

    /// On the link's loop: writes what is pending, or leaves it until the host has read more.
    func flush() {
        let bytes: ByteBuffer? = state.withLock { state in
            state.isFlushScheduled = false
            guard channel.isWritable, state.pending.readableBytes > 0 else { return nil }
            defer { state.pending = ByteBuffer() }
            return state.pending
        }
        if let bytes { channel.writeAndFlush(bytes, promise: nil) }
    }
}

extension LinkWriter.State {
    fileprivate mutating func scheduleFlush() -> Bool {
        guard !isFlushScheduled else { return false }
        isFlushScheduled = true
        return true
    }
}
