import Foundation
import Sharing

/// The short reads that wait: those of functions and of the host in their order, those of clients in turn by client, and
/// the two kinds by turns. So no caller's reads wait for more than one of each other's.
final class ShortReads: @unchecked Sendable {
    private struct Waiting {
        let job: any SnapshotJob
        let arrival: Int
    }

    private let condition = NSCondition()
    // `condition` is held by all code that uses the variables below.
    private var own = IndexedQueue<Waiting>()
    private var clients: FairQueue<UInt64, Waiting>
    /// Whether the next turn is a client's.
    private var isClientsTurn = false
    private var arrivals = 0
    private var waitingThreads = 0
    private var isClosed = false

    /// - Parameter places: how many clients' reads may wait.
    init(places: Int) { clients = FairQueue(places: places) }

    var isEmpty: Bool {
        condition.lock()
        defer { condition.unlock() }
        return isEmptyNow
    }

    private var isEmptyNow: Bool { own.isEmpty && clients.isEmpty }

    /// - Parameters:
    ///   - client: nil for functions and the host.
    ///   - limit: refuses a read of a function or the host if this many of them are already waiting.
    /// - Returns: false if the queue is closed or full; the job was not taken then.
    func put(_ job: any SnapshotJob, of client: UInt64?, limit: Int) -> Bool {
        condition.lock()
        let isTaken = add(job, of: client, limit: limit)
        let mustWake = isTaken && waitingThreads > 0
        condition.unlock()
        // A thread that wakes up while the lock is held has to wait for it.
        if mustWake { condition.signal() }
        return isTaken
    }

    private func add(_ job: any SnapshotJob, of client: UInt64?, limit: Int) -> Bool {
        guard !isClosed else { return false }
        let waiting = Waiting(job: job, arrival: arrivals)
        if let client {
            guard clients.append(waiting, of: client) else { return false }
        } else {
            guard own.count < limit else { return false }
            own.append(waiting)
        }
        arrivals += 1
        return true
    }

    /// Refuses new reads; those in the queue are still taken.
    func close() {
        condition.lock()
        isClosed = true
        condition.broadcast()
        condition.unlock()
    }

    /// Waits for a read.
    ///
    /// - Returns: the read, and the number of the next one to arrive; nil once the queue is closed and empty.
    func takeFirst() -> (job: any SnapshotJob, end: Int)? {
        condition.lock()
        defer { condition.unlock() }
        while isEmptyNow, !isClosed {
            waitingThreads += 1
            condition.wait()
            waitingThreads -= 1
        }
        return take(before: .max).map { ($0, arrivals) }
    }

    /// Takes the next read if it was already waiting when `takeFirst` returned `end`.
    func takeNext(before end: Int) -> (any SnapshotJob)? {
        condition.lock()
        defer { condition.unlock() }
        return take(before: end)
    }

    private func take(before end: Int) -> (any SnapshotJob)? {
        let next = isClientsTurn ? clients.first ?? own.first : own.first ?? clients.first
        guard let next, next.arrival < end else { return nil }
        let isClients = next.arrival == clients.first?.arrival
        _ = isClients ? clients.popFirst() : own.popFirst()
        isClientsTurn = !isClients
        return next.job
    }
}
