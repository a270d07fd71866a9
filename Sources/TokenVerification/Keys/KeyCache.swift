package import Logging
import ServiceLifecycle
import Synchronization

/// Holds an issuer's keys and keeps them fresh while its `run()` runs.
///
/// Looking a key up is a short lock and never waits. ``KeyCacheState`` decides when to fetch; this performs it, one
/// fetch at a time.
package final class KeyCache: Service {
    private struct State {
        var keys: KeyCacheState
        /// Who waits for the fetch that is due or under way.
        var waiters: [@Sendable () -> Void] = []
    }

    private let source: any KeySource
    private let logger: Logger
    private let now: WallClock
    private let clock: any Clock<Duration>
    private let state: Mutex<State>
    private let demands: AsyncStream<Void>
    private let demand: AsyncStream<Void>.Continuation

    /// - Parameters:
    ///   - now: What ages are counted by.
    ///   - clock: What the wait for the next fetch is slept on.
    package convenience init(
        source: any KeySource, logger: Logger, now: @escaping WallClock = systemWallClock,
        clock: any Clock<Duration> = ContinuousClock()
    ) {
        self.init(source: source, logger: logger, limits: .init(), now: now, clock: clock)
    }

    init(
        source: any KeySource, logger: Logger, limits: KeyCacheState.Limits, now: @escaping WallClock,
        clock: any Clock<Duration>
    ) {
        self.source = source
        self.logger = logger
        self.now = now
        self.clock = clock
        self.state = Mutex(State(keys: KeyCacheState(limits: limits)))
        (self.demands, self.demand) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    }

    /// Fetches at once, and then whenever it is due, until shutdown.
    package func run() async throws {
        await cancelWhenGracefulShutdown {
            await withDiscardingTaskGroup { group in
                group.addTask { await self.fetchOnTime() }
                group.addTask {
                    for await _ in self.demands { await self.fetchIfDue() }
                }
            }
        }
        callWaiters { $0.stop() }
    }

    func lookUp(_ keyID: String) -> KeyLookup {
        let lookup = state.withLock { $0.keys.lookUp(keyID, now: now()) }
        if case .fetching = lookup { demand.yield() }
        return lookup
    }

    /// Calls back when the fetch that is due or under way has ended, or at once where there is none.
    func whenFetched(_ callback: @escaping @Sendable () -> Void) {
        let waits = state.withLock { state in
            guard state.keys.isFetchExpected(now: now()) else { return false }
            state.waiters.append(callback)
            return true
        }
        if !waits { callback() }
    }

    private func fetchOnTime() async {
        while !Task.isCancelled {
            switch state.withLock({ $0.keys.secondsUntilDue(now: now()) }) {
            case 0: await fetchIfDue()
            case let seconds?:
                // Cancellation is looked at by the loop. An hour at most, so that a set clock can't mislead for long.
                try? await clock.sleep(for: .seconds(min(seconds, 3600)))
            case nil:
                await withCheckedContinuation { continuation in whenFetched { continuation.resume() } }
            }
        }
    }

    private func fetchIfDue() async {
        guard state.withLock({ $0.keys.begin(now: now()) }) else { return }
        do throws(KeySourceError) {
            let fetched = try await source.fetch()
            callWaiters { $0.succeed(fetched, now: now()) }
            logger.debug("signing keys fetched", metadata: ["auth.max_age": "\(fetched.maxAge)"])
        } catch {
            callWaiters { $0.fail(now: now()) }
            logger.warning("signing keys not fetched", metadata: ["error": "\(error)"])
        }
    }

    /// Changes the state and calls, outside the lock, everybody who waited for that.
    private func callWaiters(after change: (inout KeyCacheState) -> Void) {
        let waiters = state.withLock { state in
            change(&state.keys)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }
}
