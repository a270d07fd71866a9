import StorageEngine
import DocumentModel
import DocumentStore
import Foundation

/// Hands over what a blocking thread produces to a task, a bounded number of pieces ahead.
///
/// `@unchecked Sendable`: `condition` is held wherever the variables are touched.
final class WorkPipe<Element: Sendable>: @unchecked Sendable {
    private let condition = NSCondition()
    private let limit: Int
    private let patience: TimeInterval
    private var elements: [Element] = []
    private var waiter: CheckedContinuation<Element?, Never>?
    private var isFinished = false
    private var isAbandoned = false

    /// - Parameter patience: for how long a full pipe may stay full. A read session that is held for somebody who
    ///   doesn't read keeps the log of commits from being cut off.
    init(limit: Int = 4, patience: TimeInterval = 120) {
        self.limit = limit
        self.patience = patience
    }

    /// Waits while the pipe is full.
    ///
    /// - Throws: where nobody takes anything any more.
    func send(_ element: Element) throws {
        condition.lock()
        defer { condition.unlock() }
        let deadline = Date(timeIntervalSinceNow: patience)
        while elements.count >= limit, !isAbandoned {
            guard condition.wait(until: deadline) else {
                throw DocumentError(.cancelled, "nobody has read for \(Int(patience)) seconds")
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

    /// Says that nothing more comes.
    func finish() {
        condition.lock()
        defer { condition.unlock() }
        isFinished = true
        waiter?.resume(returning: nil)
        waiter = nil
    }

    /// Says that nothing more is taken.
    func abandon() {
        condition.lock()
        isAbandoned = true
        condition.broadcast()
        condition.unlock()
    }

    /// The next piece; nil at the end.
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

    /// Runs a body on a thread of its own and tells what it sends.
    ///
    /// - Parameter cancellation: cancelled too where the calling task is.
    /// - Throws: what the body or `tell` throws; the body has ended then.
    static func run<Result: Sendable>(
        _ name: String, until cancellation: BlockingWork.Cancellation,
        _ body: @escaping @Sendable ((Element) throws -> Void) throws -> Result,
        tell: (Element) async throws -> Void
    ) async throws -> Result {
        let pipe = WorkPipe()
        async let result = BlockingWork.run(name, until: cancellation) { cancellation in
            defer { pipe.finish() }
            return try body { element in
                try cancellation.check()
                try pipe.send(element)
            }
        }
        do {
            while let element = await pipe.next() { try await tell(element) }
        } catch {
            pipe.abandon()
            throw error
        }
        return try await result
    }
}
