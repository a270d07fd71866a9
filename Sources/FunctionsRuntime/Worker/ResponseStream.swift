import NIOCore
import Synchronization
import WorkerProtocol

/// The response of one invocation on its link: chunks within the client's credit, and then the end.
///
/// Parts of an HTTP body are gathered, as by Nagle's algorithm: while the client hasn't taken what was sent, small
/// parts wait and go together. So a pause ends with the first part, and a thousand small ones are few frames.
final class ResponseStream: Sendable {
    fileprivate struct State {
        /// In bytes; the last chunk may make it negative.
        var credit = Frame.initialCredit
        var isCancelled = false
        /// Those that wait for credit, or for room in `gathered`.
        var waiting: [CheckedContinuation<Void, Never>] = []
        var gathered = ByteBuffer()
        /// Whether a thread sends parts: others leave theirs to it, which keeps the order.
        var isSending = false
        var end = End.open
    }

    fileprivate enum End {
        case open
        /// Waits for the thread that sends parts.
        case result([UInt8])
        case failure(InvocationFailure)
        case sent
    }

    fileprivate enum Outgoing {
        case chunk(ByteBuffer)
        case result(ByteBuffer, [UInt8])
        case failure(ByteBuffer?, InvocationFailure)
    }

    /// With this many bytes, parts are sent even if the client hasn't taken the last ones.
    fileprivate static let fullChunk = 65_536

    private let invocation: UInt64
    private let writer: LinkWriter
    private let state = Mutex(State())

    init(of invocation: UInt64, to writer: LinkWriter) {
        self.invocation = invocation
        self.writer = writer
    }

    func send(_ head: HTTPAnswerHead) { writer.send(.httpHead, invocation: invocation) { head.write(to: &$0) } }

    /// Sends a chunk on its own; suspends while the client reads slowly.
    ///
    /// - Throws: `CancellationError` if the invocation is cancelled or over, ``OversizedChunk``.
    func send(chunk: ByteBuffer) async throws {
        guard chunk.readableBytes <= Frame.maxChunk else { throw OversizedChunk(bytes: chunk.readableBytes) }
        try await wait { state in
            guard state.credit > 0 else { return false }
            state.credit -= chunk.readableBytes
            return true
        }
        writer.send(.chunk, invocation: invocation) { $0.writeImmutableBuffer(chunk) }
    }

    /// Sends a part of a body, at once or with the next ones; suspends while the client reads slowly.
    ///
    /// - Throws: `CancellationError` if the invocation is cancelled or over.
    func write(_ part: ByteBuffer) async throws {
        var outgoing: Outgoing?
        try await wait { state in
            guard state.gathered.readableBytes < Self.fullChunk else { return false }
            state.gather(part)
            outgoing = state.next()
            return true
        }
        send(outgoing)
    }

    /// Ends the response with the result, or with the rest of a streamed one.
    func end(_ body: [UInt8]) { end(.result(body)) }

    func fail(_ failure: InvocationFailure) { end(.failure(failure)) }

    private func end(_ end: End) {
        let outgoing = state.withLock { state in
            state.end = end
            return state.next()
        }
        send(outgoing)
    }

    func cancel() {
        let waiting = state.withLock { state in
            state.isCancelled = true
            return state.takeWaiting()
        }
        for continuation in waiting { continuation.resume() }
    }

    /// Whether writes wait, for credit or for the thread that sends.
    var hasWaiting: Bool { state.withLock { !$0.waiting.isEmpty } }

    /// The client has taken bytes. Doesn't send, because the thread that reads must not wait for the link.
    ///
    /// - Returns: Whether ``sendGathered()`` has something to send.
    func receiveCredit(_ bytes: Int) -> Bool {
        let (waiting, hasGathered) = state.withLock { state in
            state.credit += bytes
            return (state.credit > 0 ? state.takeWaiting() : [], state.gathered.readableBytes > 0)
        }
        for continuation in waiting { continuation.resume() }
        return hasGathered
    }

    func sendGathered() { send(state.withLock { $0.next() }) }

    /// Sends, and what other threads have left meanwhile.
    private func send(_ first: Outgoing?) {
        var outgoing = first
        while let next = outgoing {
            switch next {
            case .chunk(let bytes):
                writer.send(.chunk, invocation: invocation) { $0.writeImmutableBuffer(bytes) }
            case .result(let gathered, let body):
                writer.send(.result, invocation: invocation) {
                    $0.writeImmutableBuffer(gathered)
                    $0.writeBytes(body)
                }
            case .failure(let gathered, let failure):
                if let gathered { writer.send(.chunk, invocation: invocation) { $0.writeImmutableBuffer(gathered) } }
                writer.send(.failure, invocation: invocation) { failure.write(to: &$0) }
            }
            let waiting: [CheckedContinuation<Void, Never>]
            (outgoing, waiting) = state.withLock { state in
                state.isSending = false
                return (state.next(), state.takeWaiting())
            }
            for continuation in waiting { continuation.resume() }
        }
    }

    /// Waits until `take` returns true.
    private func wait(until take: (inout State) -> Bool) async throws {
        while true {
            try Task.checkCancellation()
            let mayGo = try state.withLock { state in
                guard !state.isCancelled, state.isOpen else { throw CancellationError() }
                return take(&state)
            }
            if mayGo { return }
            await withTaskCancellationHandler {
                await withCheckedContinuation { continuation in
                    let resumeNow = state.withLock { state in
                        guard !state.isCancelled, state.isBlocked, !Task.isCancelled else { return true }
                        state.waiting.append(continuation)
                        return false
                    }
                    if resumeNow { continuation.resume() }
                }
            } onCancel: {
                // The others wait again.
                for continuation in state.withLock({ $0.takeWaiting() }) { continuation.resume() }
            }
        }
    }
}

extension ResponseStream.State {
    var isOpen: Bool { if case .open = end { true } else { false } }

    /// Whether a part or a chunk has to wait: then credit will come, or the thread that sends will be done.
    var isBlocked: Bool { credit <= 0 || gathered.readableBytes >= ResponseStream.fullChunk }

    mutating func gather(_ part: ByteBuffer) {
        if gathered.readableBytes == 0 { gathered = part } else { gathered.writeImmutableBuffer(part) }
    }

    mutating func takeWaiting() -> [CheckedContinuation<Void, Never>] {
        defer { waiting = [] }
        return waiting
    }

    /// What to send now; nil if nothing, or if another thread sends and will see it.
    mutating func next() -> ResponseStream.Outgoing? {
        guard !isSending else { return nil }
        switch end {
        case .sent: return nil
        case .open:
            let count = gathered.readableBytes
            let isFull = count >= ResponseStream.fullChunk && credit > 0
            guard count > 0, credit == Frame.initialCredit || isFull else { return nil }
            isSending = true
            credit -= count
            return .chunk(takeGathered())
        case .result(let body):
            isSending = true
            end = .sent
            return .result(takeGathered(), body)
        case .failure(let failure):
            isSending = true
            end = .sent
            // Without credit, another chunk would violate the protocol.
            return .failure(gathered.readableBytes > 0 && credit > 0 ? takeGathered() : nil, failure)
        }
    }

    private mutating func takeGathered() -> ByteBuffer {
        defer { gathered = ByteBuffer() }
        return gathered
    }
}
