package import EventDispatch
import FunctionManifest
package import Gateway
import Workers
import Logging
import NIOCore
import Synchronization

/// Switches from one set of functions to the next without losing calls.
///
/// Invocations that were routed before the switch end in the replaced release, however long they take; later ones go to
/// the new release, and so do deliveries for which no handler was started yet. The caller of ``serve(_:)`` must not start
/// two switches at the same time.
package final class ReleaseSwitch: Sendable {
    private struct State {
        var current: ServedFunctions
        /// The pools of all functions that were ever started or probed. A pool lives as long as it has a process or a
        /// call that may need one, even after its release was replaced.
        var pools: [WeakPool] = []
        var probing: [WorkerPool] = []
        /// Whether the host is stopping; no other release may be served then.
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

    /// How many workers are started at the same time. The bound protects the workers that serve calls.
    private static let probesAtOnce = 4

    package init(_ first: ServedFunctions, events: EventService, schedules: ScheduleRunner, loops: [GatewayLoop]) {
        state = Mutex(State(current: first))
        self.events = events
        self.schedules = schedules
        self.loops = loops
    }

    package var current: ServedFunctions { state.withLock { $0.current } }

    /// Starts the workers that `minInstances` requires.
    package func begin() {
        let functions = state.withLock { state in
            state.note(state.current.functions)
            return state.current.functions
        }
        for function in functions { function.pool.begin() }
    }

    // MARK: The switch

    /// Starts workers of each function of `next` whose release is new: one, to check that it starts, and for a function
    /// that has workers now as many as are ready.
    ///
    /// - Throws: ``ReleaseError`` if a worker doesn't become ready. All new workers are stopped then.
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
            // A function that has no workers now doesn't need the probe's worker either.
            for function in functions where served[function.manifest.name]?.isEmpty ?? true {
                function.pool.retireIdleWorkers()
            }
        }
        // A function with several ready workers starts as many in the new release: fewer would reject calls. The
        // functions are started one after the other.
        for function in new where failures.isEmpty {
            let count = served[function.manifest.name]?.readyWorkers ?? 0
            if count > 1, let failure = await Self.failure(of: function, count) { failures.append(failure) }
        }
        guard failures.isEmpty else {
            discard(next)
            guard !state.withLock(\.isStopping) else { throw .stopping }
            throw ReleaseError(
                "a worker of the release doesn't become ready (\(failures.sorted().joined(separator: "; "))); "
                    + "see its output in the host's log")
        }
    }

    /// Stops the workers of functions that were prepared and won't be served.
    func discard(_ next: ServedFunctions) {
        for function in Self.functions(of: next, notIn: current) { function.pool.drain() }
    }

    /// Switches to these functions.
    ///
    /// - Parameter also: switches what goes with them at the same moment.
    /// - Throws: if a function's event pattern or schedule can't be served. Nothing has changed then.
    func serve(_ next: ServedFunctions, also: @Sendable () -> Void = {}) async throws {
        let before = current
        try schedules.serve(next.manifests)
        do {
            try events.serve(next.eventFunctions(on: loops.map(\.invocations)))
        } catch {
            try schedules.serve(before.manifests)
            throw error
        }
        state.withLock { $0.current = next }
        also()
        for function in Self.functions(of: next, notIn: before) { function.pool.begin() }
        for loop in loops { try? await loop.eventLoop.submit { loop.routes = next.routes }.get() }
        let replaced = Self.functions(of: before, notIn: next)
        let warm = Set(replaced.filter { !$0.pool.isEmpty }.map(\.manifest.name))
        for function in replaced { function.pool.drain() }
        // The probe's worker is kept only for functions that had a worker before; the others would only use memory.
        for function in Self.functions(of: next, notIn: before) where !warm.contains(function.manifest.name) {
            function.pool.retireIdleWorkers()
        }
    }

    private static func failure(of function: ServedFunction, _ count: Int) async -> String? {
        await function.pool.probe(count).map { "\(function.manifest.name): \($0)" }
    }

    private static func functions(of set: ServedFunctions, notIn other: ServedFunctions) -> [ServedFunction] {
        let pools = Set(other.functions.map { ObjectIdentifier($0.pool) })
        return set.functions.filter { !pools.contains(ObjectIdentifier($0.pool)) }
    }

    // MARK: Shutdown

    /// Prevents further switches and kills the workers of a release that is being probed.
    func close() async {
        let probing = state.withLock { state in
            state.isStopping = true
            return state.probing
        }
        for pool in probing { pool.stop() }
        for pool in probing { await pool.kill() }
    }

    /// Stops accepting work; workers exit as soon as they are idle.
    package func stop() { for pool in pools { pool.stop() } }

    /// Kills the remaining workers and returns when no process is left.
    package func kill() async { for pool in pools { await pool.kill() } }

    /// The executables of all releases that have workers, served or replaced.
    var executables: Set<String> { Set(pools.filter { !$0.isEmpty }.map(\.executable)) }

    private var pools: [WorkerPool] { state.withLock { $0.pools.compactMap(\.pool) } }
}

/// The reason why a release isn't served.
package struct ReleaseError: Error, Equatable, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }

    static let stopping = ReleaseError("the host is stopping")
}
