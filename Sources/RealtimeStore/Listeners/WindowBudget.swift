import CommitPipeline

/// The entries that the windows of all queries have in memory, and those of each caller, with their limits.
struct WindowBudget {
    private let limit: Int
    private let callerLimit: Int
    private(set) var used = 0
    private var byCaller: [ReadCaller: Int] = [:]

    init(limit: Int, callerLimit: Int) {
        self.limit = limit
        self.callerLimit = callerLimit
    }

    /// Counts a window that has grown or shrunk.
    ///
    /// - Parameters:
    ///   - old: its size before; 0 for a new one.
    ///   - caller: the caller that it is counted for; nil for a function or the host, which have no share.
    /// - Throws: `tooLarge` if it has grown beyond the caller's share, or `unavailable` if beyond the limit of all. It
    ///   isn't counted then.
    mutating func replace(_ old: Int, by new: Int, of caller: ReadCaller?) throws(RealtimeFailure) {
        try check(old, by: new, of: caller)
        count(new - old, of: caller)
    }

    /// Checks what ``replace(_:by:of:)`` would count.
    func check(_ old: Int, by new: Int, of caller: ReadCaller?) throws(RealtimeFailure) {
        guard new > old else { return }
        guard caller.map({ byCaller[$0, default: 0] + new - old }) ?? 0 <= callerLimit else {
            throw RealtimeFailure(
                .tooLarge,
                "the queries that the client listens to match more than \(callerLimit) children together, its "
                    + "limit; add limits to them, or listen without a query")
        }
        guard used + new - old <= limit else {
            throw RealtimeFailure(
                .unavailable,
                "the queries that clients listen to match more than \(limit) children together, the host's limit; "
                    + "retry later, or add limits to the queries")
        }
    }

    mutating func remove(_ size: Int, of caller: ReadCaller?) { count(-size, of: caller) }

    /// Counts a window for another caller, whose share may be exceeded.
    mutating func move(_ size: Int, from old: ReadCaller?, to new: ReadCaller?) {
        count(-size, of: old)
        count(size, of: new)
    }

    private mutating func count(_ difference: Int, of caller: ReadCaller?) {
        used += difference
        guard let caller else { return }
        let left = byCaller[caller, default: 0] + difference
        byCaller[caller] = left == 0 ? nil : left
    }
}
