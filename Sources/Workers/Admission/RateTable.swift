import FunctionManifest

/// How much of one rate limit each caller has used: a pure table of bounded size.
///
/// For each caller it keeps the time at which the whole limit is available again. Callers are kept in two generations;
/// when the newer one is full or as old as the limit's period, the older one is dropped. A caller's count is therefore
/// kept until the caller has been idle for that period, unless more other callers than a generation holds came in
/// between.
struct RateTable: Sendable {
    let limit: RateLimitManifest
    /// The nanoseconds in which one call becomes available again.
    private let interval: Int64
    private let period: Int64
    private let capacity: Int
    private var newer: [Caller: Int64] = [:]
    private var older: [Caller: Int64] = [:]
    private var newerSince: Int64

    /// - Parameter capacity: the number of callers in one generation.
    init(_ limit: RateLimitManifest, now: Int64, capacity: Int = 32_768) {
        self.limit = limit
        self.capacity = capacity
        period = Int64(limit.seconds) * 1_000_000_000
        interval = period / Int64(limit.count)
        newerSince = now
    }

    /// The number of tracked callers.
    var count: Int { newer.count + older.count }

    /// - Parameter now: nanoseconds of a monotonic clock.
    /// - Returns: nanoseconds until the caller may call; 0 if it may now.
    func wait(_ caller: Caller, now: Int64) -> Int64 { max(0, next(caller, now: now) - now - period) }

    mutating func take(_ caller: Caller, now: Int64) {
        let next = next(caller, now: now)
        if now - newerSince >= period || (newer.count >= capacity && newer[caller] == nil) {
            older = newer
            newer = [:]
            newerSince = now
        }
        newer[caller] = next
    }

    /// The time at which the whole limit is available again after one more call.
    private func next(_ caller: Caller, now: Int64) -> Int64 {
        max(newer[caller] ?? older[caller] ?? now, now) + interval
    }
}
