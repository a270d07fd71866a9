import StorageEngine

/// Decides which of the engine's refusals are reported: the first, one with another reason, and then one a minute. Also
/// their end is reported.
struct RefusalReports {
    private static let interval: Duration = .seconds(60)

    /// The last one that was reported; nil if commits have been kept since.
    private var last: (message: String, time: Duration)?

    /// - Parameter time: now, on a clock that never goes back.
    /// - Returns: whether to report it.
    mutating func refused(_ error: StorageError, at time: Duration) -> Bool {
        if let last, last.message == error.message, time - last.time < Self.interval { return false }
        last = (error.message, time)
        return true
    }

    /// Called when a batch with changes is durable.
    ///
    /// - Returns: whether to report that refusals have ended.
    mutating func kept() -> Bool {
        defer { last = nil }
        return last != nil
    }
}
