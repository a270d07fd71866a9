import CommitPipeline
import DocumentModel
import StorageEngine

/// A bounded pipe from a blocking thread to a task.
///
/// `@unchecked Sendable`: `condition` protects all variables.
final class WorkPipe<Element: Sendable>: @unchecked Sendable {
    private let condition = MonotonicCondition()
    private let limit: Int
    private let stallTimeout: Duration
    private var elements: [Element] = []
    private var waiter: CheckedContinuation<Element?, Never>?
    private var isFinished = false
    private var isAbandoned = false

    /// - Parameter stallTimeout: how long the pipe may stay full. The limit exists because an open read session of the
    ///   store keeps its write-ahead log from being truncated.
    init(limit: Int = 4, stallTimeout: Duration = .seconds(120)) {
        self.limit = limit
        self.stallTimeout = stallTimeout
    }

    /// Waits while the pipe is full.
    ///
    /// - Throws: if the reader has ended or has read nothing for `stallTimeout`.
    func send(_ element: Element) throws {
        condition.lock()
        defer { condition.unlock() }
        let deadline = ContinuousClock.now + stallTimeout
        while elements.count >= limit, !isAbandoned {
            guard condition.wait(until: deadline) else {
                throw DocumentError(
                    .cancelled, "the client has read nothing for \(stallTimeout.components.seconds) seconds")
            }
        }
        guard !isAbandoned else { throw CancellationError() }
        if let waiter {
            self.waiter = nil
            waiter.resume(returning: element)
        } else {
            elements.append(element)
        }
    }

    /// Marks the end of the elements.
    func finish() {
        condition.lock()
        defer { condition.unlock() }
        isFinished = true
        waiter?.resume(returning: nil)
        waiter = nil
    }

    /// Ends the reader's side: further sends fail.
    func abandon() {
        condition.lock()
        isAbandoned = true
        condition.broadcast()
        condition.unlock()
    }

    /// The next element; nil at the end.
    func next() async -> Element? {
        await withCheckedContinuation { continuation in
            condition.lock()
            defer { condition.unlock() }
            if elements.isEmpty, !isFinished {
                waiter = continuation
                return
            }
            continuation.resume(returning: elements.isEmpty ? nil : elements.removeFirst())
            condition.signal()
        }
    }

    /// Runs a body on a thread of its own and passes what it sends to `receive`.
    ///
    /// - Parameter cancellation: also cancelled if the calling task is.
    /// - Throws: any error of the body or of `receive`; the body has ended then.
    static func run<Result: Sendable>(
        _ name: String, until cancellation: BlockingWork.Cancellation, stackSize: Int = BlockingWork.stackSize,
        _ body: @escaping @Sendable ((Element) throws -> Void) throws -> Result,
        receive: (Element) async throws -> Void
    ) async throws -> Result {
        let pipe = WorkPipe()
        let work = { @Sendable () async throws -> Result in
            // Also if the system refuses the thread.
            defer { pipe.finish() }
            return try await BlockingWork.run(name, until: cancellation, stackSize: stackSize) { cancellation in
                try body { element in
                    try cancellation.check()
                    try pipe.send(element)
                }
            }
        }
        async let result = work()
        do {
            while let element = await pipe.next() { try await receive(element) }
        } catch {
            pipe.abandon()
            throw error
        }
        return try await result
    }
}
