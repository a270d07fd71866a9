package import DocumentModel

/// The versions of commits: their times in microseconds, each higher than the one before.
///
/// Used on the writer's thread.
package final class VersionCounter {
    /// The highest version ever assigned, kept or not.
    private(set) var last: Int64
    /// The version of the state in the open batch.
    package private(set) var applied: Int64
    private(set) var durable: Int64

    init(_ version: Int64) {
        last = version
        applied = version
        durable = version
    }

    /// The version for a commit that happens now.
    package func next(at now: Timestamp) -> Int64 { max(now.microseconds, last + 1) }

    /// Ensures that no later commit happens at or before a version.
    package func claim(_ version: Int64) {
        last = max(last, version)
        applied = max(applied, version)
    }

    func keep() { durable = applied }
    func rollBack() { applied = durable }
}
