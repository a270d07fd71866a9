package import DocumentModel
package import StorageEngine

/// One durable state of all data.
package struct Snapshot {
    package let storage: any StorageReader
    /// The version of the state: the time of its last commit.
    package let version: Int64
    /// The generations of what readers cache of each kind (``DataKind/generation``) in this state.
    package let generations: KindGenerations
    /// Where a job that runs on the snapshot completes; nil if that is the job's own thread.
    fileprivate let completions: CompletionThread?

    package func complete(_ completion: @escaping @Sendable () -> Void) {
        if let completions { completions.add(completion) } else { completion() }
    }
}

/// Work for a reader's thread.
package protocol SnapshotJob: Sendable {
    func run(on snapshot: Snapshot)
    /// Called if no snapshot could be read.
    func fail(_ error: DocumentError)
    /// Whether its caller still waits for it.
    var isWanted: Bool { get }
}

extension SnapshotJob {
    package var isWanted: Bool { true }
}

/// One thread's connection, with its snapshots.
package final class SnapshotSession {
    private let session: any ReadSession
    private let completions: CompletionThread?

    package init(_ session: any ReadSession, completions: CompletionThread? = nil) {
        self.session = session
        self.completions = completions
    }

    package func read<Result>(_ body: (Snapshot) throws -> Result) throws -> Result {
        try session.read { storage in
            let (version, generations) = try StoreVersion.readRow(storage)
            return try body(
                Snapshot(
                    storage: storage, version: version, generations: generations, completions: completions))
        }
    }
}

/// One reader thread: runs the waiting jobs one by one on one snapshot, so that a slow job never delays a job that
/// another reader could take.
final class SnapshotReader: @unchecked Sendable {
    private static let maxBatch = 64

    private let jobs: ShortReads
    // Used only by the thread that calls `run`.
    private let session: SnapshotSession

    init(_ jobs: ShortReads, _ session: SnapshotSession) {
        self.jobs = jobs
        self.session = session
    }

    func run() {
        while let (first, end) = jobs.takeFirst() {
            var waiting: (any SnapshotJob)? = first
            do {
                try session.read { snapshot in
                    for _ in 0..<Self.maxBatch {
                        // A caller that came after the snapshot may know of commits that the snapshot doesn't hold.
                        guard let job = waiting ?? jobs.takeNext(before: end) else { return }
                        waiting = nil
                        if job.isWanted { job.run(on: snapshot) } else { job.fail(.callerLeft) }
                    }
                }
            } catch {
                waiting?.fail(DocumentError(from: error))
            }
        }
    }
}
