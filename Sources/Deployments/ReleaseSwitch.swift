package import EventDispatch
import FunctionManifest
package import Gateway
import Workers
import Logging
import NIOCore
import Synchronization

/// Serves one set of functions after the other, so that no call is lost between two.
///
/// What was routed to a function's release before the switch ends there, however long it takes; what comes afterwards goes
/// to the new one. Whoever calls ``serve(_:)`` sees to it that one switch follows another.
package final class ReleaseSwitch: Sendable {
    private struct State {
        var current: ServedFunctions
        /// Of all that was ever begun or probed. A pool is there as long as it has a process, or a call that may need one:
        /// also one that another release has taken over from.
        var pools: [WeakPool] = []
        var probing: [WorkerPool] = []
        /// Whether the host ends, and nothing else is to be served.
        var isStopping = false

        mutating func note(_ functions: [ServedFunction]) {
            pools.removeAll { $0.pool == nil }
            pools += functions.map { WeakPool(pool: $0.pool) }
        }
    }

    private struct WeakPool {
        weak var pool: WorkerPool?
    }

    private let state: Mutex<State>
    private let events: EventService
    private let schedules: ScheduleRunner
    private let loops: [GatewayLoop]

    /// New workers are started so many at a time, so that those that serve hardly notice.
    private static let probesAtOnce = 4

    package init(_ first: ServedFunctions, events: EventService, schedules: ScheduleRunner, loops: [GatewayLoop]) {
        state = Mutex(State(current: first))
        self.events = events
        self.schedules = schedules
        self.loops = loops
    }

    package var current: ServedFunctions { state.withLock { $0.current } }

    /// Starts what shall be kept warm.
    package func begin() {
        let functions = state.withLock { state in
            state.note(state.current.functions)
            return state.current.functions
        }
        for function in functions { function.pool.begin() }
    }

    // MARK: The switch

    /// Starts workers of each function that `next` doesn't share with what is served: one, to see that it starts, and for a
    /// function at work as many as it has now.
    ///
    /// - Throws: ``ReleaseError`` where one doesn't become ready; its workers are ended then.
    func probe(_ next: ServedFunctions) async throws(ReleaseError) {
        let new = Self.functions(of: next, notIn: current)
        let isStopping = state.withLock { state in
            state.note(new)
            state.probing = new.map(\.pool)
            return state.isStopping
        }
        defer { state.withLock { $0.probing = [] } }
        guard !isStopping else { throw .stopping }
        var served: [String: WorkerPool] = [:]
        for function in current.functions { served[function.manifest.name] = function.pool }
        var failures: [String] = []
        for start in stride(from: 0, to: new.count, by: Self.probesAtOnce) where failures.isEmpty {
            let functions = new[start..<min(start + Self.probesAtOnce, new.count)]
            failures += await withTaskGroup { group in
                for function in functions { group.addTask { await Self.failure(of: function, 1) } }
                return await group.reduce(into: [String]()) { if let failure = $1 { $0.append(failure) } }
            }
            // Where nobody is at work there is no worker to take over from, and no need for one.
            for function in functions where served[function.manifest.name]?.isEmpty ?? true { function.pool.cool() }
        }
        // Who takes over from several begins with as many: fewer would have to refuse calls. One function after the other,
        // and of each as many at a time as are ever started.
        for function in new where failures.isEmpty {
            let count = served[function.manifest.name]?.readyWorkers ?? 0
            if count > 1, let failure = await Self.failure(of: function, count) { failures.append(failure) }
        }
        guard failures.isEmpty else {
            discard(next)
            guard !state.withLock(\.isStopping) else { throw .stopping }
            throw ReleaseError(
                "a worker of the release doesn't become ready (\(failures.sorted().joined(separator: "; "))); "
                    + "the host's log has what it printed")
        }
    }

    /// Ends the workers of what was made and is not to be served.
    func discard(_ next: ServedFunctions) {
        for function in Self.functions(of: next, notIn: current) { function.pool.drain() }
    }

    /// Serves these functions from now on.
    ///
    /// - Throws: where a function's event pattern or schedule can't be served; then all is as it was.
    func serve(_ next: ServedFunctions) async throws {
        let before = current
        try schedules.serve(next.manifests)
        do {
            try events.serve(next.eventFunctions(on: loops.map(\.invocations)))
        } catch {
            try schedules.serve(before.manifests)
            throw error
        }
        state.withLock { $0.current = next }
        for function in Self.functions(of: next, notIn: before) { function.pool.begin() }
        for loop in loops { try? await loop.eventLoop.submit { loop.routes = next.routes }.get() }
        let replaced = Self.functions(of: before, notIn: next)
        let warm = Set(replaced.filter { !$0.pool.isEmpty }.map(\.manifest.name))
        for function in replaced { function.pool.drain() }
        // A probe is kept where a worker was there before; else the memory of all would be taken for nothing.
        for function in Self.functions(of: next, notIn: before) where !warm.contains(function.manifest.name) {
            function.pool.cool()
        }
    }

    private static func failure(of function: ServedFunction, _ count: Int) async -> String? {
        await function.pool.probe(count).map { "\(function.manifest.name): \($0)" }
    }

    private static func functions(of set: ServedFunctions, notIn other: ServedFunctions) -> [ServedFunction] {
        let pools = Set(other.functions.map { ObjectIdentifier($0.pool) })
        return set.functions.filter { !pools.contains(ObjectIdentifier($0.pool)) }
    }

    // MARK: The host's end

    /// Lets no release take over any more; the workers of one that is being probed are ended.
    func close() async {
        let probing = state.withLock { state in
            state.isStopping = true
            return state.probing
        }
        for pool in probing { pool.stop() }
        for pool in probing { await pool.kill() }
    }

    /// Takes no more work; workers end as soon as they have nothing to do.
    package func stop() { for pool in pools { pool.stop() } }

    /// Ends what is left, and returns when no process is.
    package func kill() async { for pool in pools { await pool.kill() } }

    private var pools: [WorkerPool] { state.withLock { $0.pools.compactMap(\.pool) } }
}

/// Why a release isn't served.
package struct ReleaseError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }

    static let stopping = ReleaseError("the host is stopping")
}
