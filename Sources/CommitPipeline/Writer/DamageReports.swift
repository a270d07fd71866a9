import StorageEngine

/// Reports damage that no caller hears of, because no commit fails for it: once for each work that doesn't go on. And
/// that commits are refused because rows can't be read at the moment: once a minute.
///
/// Used on the writer's thread.
final class DamageReports {
    private var reported: Set<String> = []
    /// When refused commits were last reported.
    private var refusedAt: Duration?
    private let elapsed: () -> Duration
    private let report: (String, StorageError) -> Void

    /// Names of functions and databases are part of what is reported.
    private static let capacity = 100

    private static let interval: Duration = .seconds(60)

    /// - Parameter elapsed: a clock that never goes back.
    init(elapsed: @escaping () -> Duration, _ report: @escaping (String, StorageError) -> Void) {
        self.elapsed = elapsed
        self.report = report
    }

    /// - Parameter work: what doesn't go on.
    func note(_ error: StorageError, _ work: String) {
        guard reported.count < Self.capacity, reported.insert(work).inserted else { return }
        report(work, error)
    }

    /// Each commit may need other rows, and have a reason of its own: one a minute is enough.
    func noteUnread(_ error: StorageError) {
        let time = elapsed()
        if let refusedAt, time - refusedAt < Self.interval { return }
        refusedAt = time
        report("commits that need rows which can't be read", error)
    }
}
