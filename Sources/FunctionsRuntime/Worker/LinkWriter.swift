import NIOCore
import Synchronization
import WorkerProtocol

/// Writes frames from any thread, and combines concurrent frames into one system call.
///
/// A thread that finds no other thread writing does the writing, also for frames that arrive meanwhile. A frame needs
/// no wake-up of another thread, and under load one call sends many frames.
final class LinkWriter: Sendable {
    fileprivate struct State {
        var pending = ByteBuffer()
        var isWriting = false
        var droppedLines = 0
        /// Those that wait for room, in order.
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    /// Log lines beyond this many unsent bytes are dropped and counted: a handler that logs faster than the host reads
    /// loses its own lines and uses no further memory.
    private static let maxUnsentLogBytes = 1_048_576

    /// With this many unsent bytes, document operations wait with their encoding. The host doesn't read more of them than
    /// it can hold.
    static let maxUnsent = 262_144

    private let descriptor: Int32
    private let state = Mutex(State())

    /// - Parameter descriptor: A blocking socket. While the host reads slowly, only the writing thread waits.
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

    /// Bytes that no thread has begun to write.
    var unsentBytes: Int { state.withLock { $0.pending.readableBytes } }

    /// Waits while much is unsent. The caller sends something without suspending in between, so that those who wait don't
    /// all send at once.
    func waitForRoom() async {
        guard unsentBytes >= Self.maxUnsent else { return }
        repeat {
            await withCheckedContinuation { continuation in
                let hasRoom = state.withLock { state in
                    guard state.pending.readableBytes >= Self.maxUnsent else { return true }
                    state.waiting.append(continuation)
                    return false
                }
                if hasRoom { continuation.resume() }
            }
        } while unsentBytes >= Self.maxUnsent
        // The next one finds what this one has left.
        wakeNext()
    }

    private func wakeNext() {
        let next = state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() }
        next?.resume()
    }

    private func write(_ add: (inout State) -> Void) {
        var bytes: ByteBuffer? = state.withLock { state in
            add(&state)
            return state.isWriting ? nil : state.next()
        }
        while let next = bytes {
            // If the host is gone, the reader detects it and ends the process.
            _ = next.withUnsafeReadableBytes { ProcessControl.write($0, to: descriptor) }
            bytes = state.withLock { $0.next() }
            wakeNext()
        }
    }
}

extension LinkWriter.State {
    /// The bytes to write now; nil if there are none, and then no thread writes.
    fileprivate mutating func next() -> ByteBuffer? {
        isWriting = pending.readableBytes > 0
        guard isWriting else { return nil }
        defer { pending = ByteBuffer() }
        return pending
    }
}
