/// A clock whose instants are the time since its start, whatever its own type.
struct ExchangeClock: Sendable {
    let now: @Sendable () -> Duration
    /// Sleeps until that time, and throws if the task is cancelled.
    let sleep: @Sendable (_ deadline: Duration) async throws -> Void

    init<C: Clock>(_ clock: C) where C.Duration == Duration {
        let start = clock.now
        now = { start.duration(to: clock.now) }
        sleep = { try await clock.sleep(until: start.advanced(by: $0), tolerance: nil) }
    }
}
