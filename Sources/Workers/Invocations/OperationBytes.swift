import Sharing
import Synchronization

/// Memory for workers' document operations and their answers, bounded for each worker and for all; another one
/// bounds, for each function, what workers are sending: see ``IncomingFrame``.
///
/// An operation holds bytes from its begin until its answer is written to the worker. If there are too few, its link waits,
/// and is served in the order of asking.
///
/// A worker gets at most half of what it holds and what is free, so that workers that don't read their answers never take
/// everything. Some bytes are kept for workers that hold nothing, so that each can begin one ordinary operation. While a
/// link waits for bytes that others hold, others get only a few: otherwise small operations could keep a large one waiting
/// for ever. Links that wait only for their own worker delay no other worker.
package final class OperationBytes: Sendable {
    /// The bytes that one worker holds.
    final class Account: Sendable {
        fileprivate let total: OperationBytes
        /// `nonisolated(unsafe)`: used under the lock of `total.state` only.
        fileprivate nonisolated(unsafe) var heldBytes = 0

        fileprivate init(of total: OperationBytes) { self.total = total }
    }

    private struct Waiter {
        let account: Account
        let bytes: Int
        let taker: any OperationBytesTaker
    }

    private struct State {
        var held = 0
        /// The most that was held.
        var peak = 0
        /// In the order of asking.
        var waiters: [Waiter] = []
    }

    /// Bytes that one worker may hold.
    let worker: Int
    /// Bytes that all workers together may hold.
    let all: Int
    /// Those of `all` that aren't kept for the first operations of workers.
    private let shared: Int
    /// The most that one operation may hold: the largest answer.
    let largest: Int
    private let state = Mutex(State())

    /// The most that a worker's first operation may take of the bytes that are kept for it: an ordinary one.
    private static let first = 320 * 1024
    /// What a worker may hold while another waits for bytes.
    private static let modest = 1024 * 1024

    /// - Parameter all: at least twice as many as for one worker.
    package init(worker: Int = HostLimits().workerBytes, all: Int = HostLimits().allWorkersBytes) {
        self.worker = worker
        self.all = all
        shared = all - all / 8
        // The rest is for what waits to be written.
        largest = min(worker, shared / 2) / 4 * 3
    }

    /// Bytes that are held now.
    package var held: Int { state.withLock { $0.held } }

    /// An account of a worker.
    func account() -> Account { Account(of: self) }

    private func fits(_ bytes: Int, _ account: Account, isBehind: Bool, held: Int) -> Bool {
        let after = account.heldBytes + bytes
        guard after <= worker, held + bytes <= all else { return false }
        if account.heldBytes == 0, bytes <= Self.first { return true }
        let share = (shared - held + account.heldBytes) / 2
        return after <= (isBehind ? min(share, Self.modest) : share)
    }

    /// Whether a waiter needs bytes that others hold: those of its own worker don't delay it.
    private func waitsForOthers(_ waiter: Waiter) -> Bool { waiter.account.heldBytes + waiter.bytes <= worker }

    private func take(_ bytes: Int, _ account: Account, _ state: inout State) {
        account.heldBytes += bytes
        state.held += bytes
        state.peak = max(state.peak, state.held)
    }

    /// Takes bytes, if they are free and the worker may have them.
    fileprivate func take(_ bytes: Int, _ account: Account, orLater taker: any OperationBytesTaker) -> Bool {
        state.withLock { state in
            let isBehind = state.waiters.contains { $0.account === account || waitsForOthers($0) }
            guard fits(bytes, account, isBehind: isBehind, held: state.held) else {
                state.waiters.append(Waiter(account: account, bytes: bytes, taker: taker))
                return false
            }
            take(bytes, account, &state)
            return true
        }
    }

    fileprivate func grow(by bytes: Int, _ account: Account) -> Bool {
        state.withLock { state in
            guard fits(bytes, account, isBehind: false, held: state.held) else { return false }
            take(bytes, account, &state)
            return true
        }
    }

    fileprivate func give(_ bytes: Int, _ account: Account) {
        let served = state.withLock { state in
            take(-bytes, account, &state)
            return serve(&state)
        }
        for waiter in served { waiter.taker.received(waiter.bytes) }
    }

    fileprivate func withdraw(_ taker: any OperationBytesTaker) -> Bool {
        let (wasWaiting, served) = state.withLock { state in
            guard let index = state.waiters.firstIndex(where: { $0.taker === taker }) else {
                return (false, [Waiter]())
            }
            state.waiters.remove(at: index)
            // Those behind it may get more now.
            return (true, serve(&state))
        }
        for waiter in served { waiter.taker.received(waiter.bytes) }
        return wasWaiting
    }

    /// Removes the waiters that can be served, with their bytes taken.
    private func serve(_ state: inout State) -> [Waiter] {
        guard !state.waiters.isEmpty else { return [] }
        var (served, left) = ([Waiter](), [Waiter]())
        var isBlocked = false
        for waiter in state.waiters {
            let isBehind = isBlocked || left.contains { $0.account === waiter.account }
            if fits(waiter.bytes, waiter.account, isBehind: isBehind, held: state.held) {
                take(waiter.bytes, waiter.account, &state)
                served.append(waiter)
            } else {
                left.append(waiter)
                isBlocked = isBlocked || waitsForOthers(waiter)
            }
        }
        state.waiters = left
        return served
    }
}

extension OperationBytes.Account {
    /// Bytes that the worker holds now.
    var held: Int { total.held(by: self) }

    /// The most that one operation may hold.
    var largest: Int { total.largest }

    /// The most that an answer may take while it is made, which is more than it takes once it is encoded.
    var largestUnencoded: Int { 2 * total.worker }

    /// Takes bytes for an operation that is to begin.
    ///
    /// - Parameter taker: receives the bytes later if there are too few now; one may wait only once at a time.
    /// - Returns: whether they were taken.
    func take(_ bytes: Int, orLater taker: any OperationBytesTaker) -> Bool { total.take(bytes, self, orLater: taker) }

    /// Takes more bytes for an operation that has begun, which doesn't wait for others.
    func grow(by bytes: Int) -> Bool { total.grow(by: bytes, self) }

    /// Gives bytes back, and serves those who wait.
    func give(_ bytes: Int) { if bytes != 0 { total.give(bytes, self) } }

    /// - Returns: whether the taker waited; if not, it has received its bytes or is about to.
    func withdraw(_ taker: any OperationBytesTaker) -> Bool { total.withdraw(taker) }
}

extension OperationBytes {
    fileprivate func held(by account: Account) -> Int { state.withLock { _ in account.heldBytes } }

    /// In the Prometheus format.
    package var metrics: String {
        MetricFamily.single(
            "functions_operation_bytes", "gauge",
            "Memory that workers' document operations and their answers hold.", held)
            + MetricFamily.single(
                "functions_operation_bytes_peak", "gauge", "The most of it since the start.",
                state.withLock { $0.peak })
    }
}

/// Waits for bytes of an ``OperationBytes/Account``.
protocol OperationBytesTaker: AnyObject, Sendable {
    /// The bytes are taken. Called on any thread.
    func received(_ bytes: Int)
}
