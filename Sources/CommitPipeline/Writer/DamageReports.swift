import StorageEngine

/// Reports damage that no caller hears of, because no commit fails for it: once for each work that doesn't go on.
///
/// Used on the writer's thread.
final class DamageReports {
    private var reported: Set<String> = []
    private let report: (String, StorageError) -> Void

    /// Names of functions and databases are part of what is reported.
    private static let capacity = 100

    init(_ report: @escaping (String, StorageError) -> Void) { self.report = report }

    /// - Parameter work: what doesn't go on.
    func note(_ error: StorageError, _ work: String) {
        guard reported.count < Self.capacity, reported.insert(work).inserted else { return }
        report(work, error)
    }
}
