import FunctionManifest

/// How much of one rate limit each caller has used: a pure table, bounded in memory.
///
/// For each caller it keeps the time at which all that was used is there again. Callers are kept in two generations; when
/// the newer one is full or as old as the limit's time, the older one is dropped. So a caller's count is kept until the
/// caller has been quiet for that time, unless as many other callers as a generation holds came in between.
struct RateTable: Sendable {
    let limit: RateLimitManifest
    /// Nanoseconds in which one call is there again.
    private let interval: Int64
    private let period: Int64
    private let capacity: Int
    private var newer: [Caller: Int64] = [:]
    private var older: [Caller: Int64] = [:]
    private var newerSince: Int64

    /// - Parameter capacity: callers in one generation.
    init(_ limit: RateLimitManifest, now: Int64, capacity: Int = 32_768) {
        self.limit = limit
        self.capacity = capacity
        period = Int64(limit.seconds) * 1_000_000_000
        interval = period / Int64(limit.count)
        newerSince = now
    }

    /// How many callers are remembered.
    var count: Int { newer.count + older.count }

    /// - Parameter now: nanoseconds of any clock that only goes forward.
    /// - Returns: nanoseconds until the caller may call; 0 where it may now.
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

    /// When all that is used with one more call will be there again.
    private func next(_ caller: Caller, now: Int64) -> Int64 {
        max(newer[caller] ?? older[caller] ?? now, now) + interval
    }
}
