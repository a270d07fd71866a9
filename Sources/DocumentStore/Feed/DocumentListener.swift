import CommitPipeline
package import DocumentModel
import Synchronization

/// Follows documents or a query: delivers the current result first, then exact differences.
///
/// Ends with ``cancel()``, with its owner, with the store, or when its last reference is released.
package final class DocumentListener: Sendable {
    private let mailbox: ListenerMailbox
    private let hub: ListenerHub

    init(_ mailbox: ListenerMailbox, hub: ListenerHub) {
        self.mailbox = mailbox
        self.hub = hub
    }

    deinit { cancel() }

    /// Waits for the next event. Only one task may wait at a time.
    ///
    /// - Returns: nil after the listener was cancelled or had to start over, or if the task was cancelled.
    /// - Throws: `DocumentError` if the listener has failed: access was refused, its owner is gone, or the store shuts
    ///   down.
    package func next() async throws -> ListenEvent? { try await mailbox.next() }

    package func cancel() { hub.end(mailbox.id, .cancelled) }

    /// The time up to which the events taken so far are complete; a later listener can continue from it. Nil before the
    /// first event. It advances even if nothing that concerns the listener happens, so it is worth reading from time to
    /// time.
    package var currentTime: Timestamp? {
        // The order matters: all events up to the hub's position were added before the position advanced.
        let position = hub.position
        return mailbox.currentTime(ifNothingWaits: position)
    }
}

/// Holds a listener's events until they are read.
final class ListenerMailbox: Sendable {
    private struct State {
        var queue: ListenerQueue
        var waiter: (id: UInt64, continuation: CheckedContinuation<ListenerQueue.Answer, Never>)?
        var waits: UInt64 = 0
    }

    let id: UInt64
    let owner: UInt64?
    private let state: Mutex<State>
    private let unread: UnreadBytes
    private let onNews: (@Sendable (_ isEnd: Bool) -> Void)?

    /// - Parameters:
    ///   - unread: also counts the bytes that wait here.
    ///   - onNews: called after something was added.
    init(
        id: UInt64, owner: UInt64?, maxEvents: Int, maxBytes: Int, unread: UnreadBytes,
        onNews: (@Sendable (_ isEnd: Bool) -> Void)?
    ) {
        self.id = id
        self.owner = owner
        self.unread = unread
        self.onNews = onNews
        state = Mutex(State(queue: ListenerQueue(maxEvents: maxEvents, maxBytes: maxBytes)))
    }

    var isEnded: Bool { state.withLock { $0.queue.isEnded } }

    /// The approximate number of bytes that wait.
    var unreadBytes: Int { state.withLock { $0.queue.bytes } }

    /// - Returns: false if the listener has ended.
    func push(_ events: [SizedEvent]) -> Bool {
        let isTaken = change { $0.push(events) }
        onNews?(!isTaken)
        return isTaken
    }

    func end(_ end: ListenerQueue.End) {
        change { $0.end(end) }
        onNews?(true)
    }

    /// Takes all that waits, but no event after a time.
    ///
    /// - Returns: whether more waits.
    func take(upTo time: Timestamp, _ body: (ListenerQueue.Answer) -> Void) -> Bool {
        state.withLock { state in
            counted(&state.queue) { queue in
                while let answer = queue.take(upTo: time) {
                    body(answer)
                    // Once the queue has ended and is empty, it always answers that.
                    if case .end = answer { break }
                }
                return !queue.isEmpty
            }
        }
    }

    func currentTime(ifNothingWaits position: Timestamp) -> Timestamp? {
        state.withLock { state in
            guard let delivered = state.queue.deliveredUpTo, state.queue.isEmpty, !state.queue.isEnded else {
                return state.queue.deliveredUpTo
            }
            return max(delivered, position)
        }
    }

    func next() async throws(DocumentError) -> ListenEvent? {
        let id = state.withLock { state in
            state.waits += 1
            return state.waits
        }
        let answer = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let known: ListenerQueue.Answer? = state.withLock { state in
                    if let answer = counted(&state.queue, { $0.take() }) { return answer }
                    if Task.isCancelled { return .end }
                    guard state.waiter == nil else {
                        return .failed(DocumentError(.failedPrecondition, "a listener is read by one at a time"))
                    }
                    state.waiter = (id, continuation)
                    return nil
                }
                if let known { continuation.resume(returning: known) }
            }
        } onCancel: {
            let waiter = state.withLock { state -> CheckedContinuation<ListenerQueue.Answer, Never>? in
                guard let waiter = state.waiter, waiter.id == id else { return nil }
                state.waiter = nil
                return waiter.continuation
            }
            waiter?.resume(returning: .end)
        }
        switch answer {
        case .event(let event): return event
        case .failed(let error): throw error
        case .end: return nil
        }
    }

    /// Changes the queue and resumes the waiting reader.
    private func change<Result: Sendable>(_ body: (inout ListenerQueue) -> Result) -> Result {
        let (result, waiter, answer) = state.withLock { state in
            let result = counted(&state.queue, body)
            guard let waiter = state.waiter, let answer = counted(&state.queue, { $0.take() }) else {
                return (result, nil as CheckedContinuation<ListenerQueue.Answer, Never>?, nil as ListenerQueue.Answer?)
            }
            state.waiter = nil
            return (result, waiter.continuation, answer)
        }
        if let waiter, let answer { waiter.resume(returning: answer) }
        return result
    }

    private func counted<Result: Sendable>(
        _ queue: inout ListenerQueue, _ body: (inout ListenerQueue) -> Result
    ) -> Result {
        let before = queue.bytes
        defer { unread.add(queue.bytes - before) }
        return body(&queue)
    }
}
