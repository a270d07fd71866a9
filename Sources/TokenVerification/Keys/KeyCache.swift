package import Logging
import ServiceLifecycle
import Synchronization

/// Caches an issuer's keys, and refreshes them while `run()` is running.
///
/// Looking up a key takes a short lock and never waits. ``KeyCacheState`` decides when to fetch; this class performs
/// the fetches, one at a time.
package final class KeyCache: Service {
    private struct State {
        var keys: KeyCacheState
        /// Called when the fetch that is due or in progress has ended.
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
    ///   - now: The wall clock that the keys' ages are measured with.
    ///   - clock: The clock that waits for the next fetch.
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

    /// Fetches at once, and then whenever a fetch is due, until shutdown.
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

    /// Calls back when the fetch that is due or in progress has ended, or at once if there is none.
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
                // The loop checks for cancellation. The wait is at most an hour, because the wall clock may be adjusted
                // meanwhile.
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
            logger.warning("signing keys can't be fetched", metadata: ["error": "\(error)"])
        }
    }

    /// Changes the state, then calls the waiters outside the lock.
    private func callWaiters(after change: (inout KeyCacheState) -> Void) {
        let waiters = state.withLock { state in
            change(&state.keys)
            defer { state.waiters = [] }
            return state.waiters
        }
        for waiter in waiters { waiter() }
    }
}
