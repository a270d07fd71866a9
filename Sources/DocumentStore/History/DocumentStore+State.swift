import CommitPipeline
import StorageEngine
import DocumentModel
import Synchronization

/// A state of the store that a read uses.
struct ReadState {
    var view: DocumentView
    /// The time of the state, which the response contains.
    var time: Timestamp
}

extension DocumentStore {
    /// Finds the state that a read sees, checks the policy, and records the read with its transaction.
    ///
    /// - Parameters:
    ///   - view: a snapshot with the version `version`.
    ///   - check: checks the policy for the read, in the state that it receives.
    /// - Returns: nil if the snapshot doesn't hold that state yet; the writer must then do the read.
    /// - Throws: `DocumentError` if the state is no longer kept, or lies in the future.
    func state(
        _ consistency: ReadConsistency, _ reads: @autoclosure () -> ReadSet, _ context: OperationContext,
        _ view: DocumentView, _ version: Int64, check: (any AccessPolicy, DocumentView) throws -> Void
    ) throws -> ReadState? {
        switch consistency {
        case .strong:
            if let policy = context.policy { try check(policy, view) }
            return ReadState(view: view, time: Timestamp(microseconds: version))
        case .at(let time):
            guard let past = try self.version(at: time, view.storage, snapshot: version) else { return nil }
            let state = ReadState(
                view, of: version, at: past, PastLookup(parts, reads().documents, parts.pastMeter(context)))
            if let policy = context.policy { try check(policy, state.view) }
            return state
        case .transaction(let id):
            let reads = reads()
            guard let policy = context.policy else {
                return try enter(id, reads, isLetThrough: true, context, view, version)
            }
            // The read is recorded only after the policy has allowed it in the newest state.
            guard let state = try enter(id, reads, isLetThrough: false, context, view, version) else { return nil }
            try check(policy, state.view)
            guard let seen = try enter(id, reads, isLetThrough: true, context, view, version) else { return nil }
            // If what it has read has changed, it goes on in its own, older state: the policy decides on what is answered.
            if seen.time != state.time { try check(policy, seen.view) }
            return seen
        }
    }

    /// The version of the state at a time.
    ///
    /// - Returns: nil if commits that the snapshot doesn't hold may still happen up to that time.
    /// - Throws: `invalidArgument` for a time in the future or finer than a microsecond, `failedPrecondition` for one
    ///   that is older than the history.
    func version(at time: Timestamp, _ storage: any StorageReader, snapshot: Int64) throws -> Int64? {
        guard time == time.truncatedToMicroseconds else {
            throw DocumentError.invalidArgument("a read time has whole microseconds, and \(time) is finer")
        }
        let version = time.microseconds
        // If the wall clock went back, commits are ahead of it.
        guard version <= snapshot else {
            let now = now()
            guard time <= now else {
                throw DocumentError.invalidArgument("the read time \(time) is in the future; it is \(now) now")
            }
            return nil
        }
        let floor = try HistoryBounds.read(storage)?.floor ?? snapshot
        guard version >= floor else {
            throw DocumentError(
                .failedPrecondition,
                "the read time \(time) is older than what the store keeps; it can be read back to "
                    + "\(Timestamp(microseconds: floor))")
        }
        return version
    }

    private func enter(
        _ id: TransactionID, _ reads: ReadSet, isLetThrough: Bool, _ context: OperationContext, _ view: DocumentView,
        _ version: Int64
    ) throws -> ReadState? {
        let time = elapsed()
        let decision = try parts.transactions.withLock { table throws(DocumentError) in
            try table.read(
                id, owner: context.owner, isLetThrough ? reads : nil, snapshot: version,
                isPatient: context.retriesCommitsOnly, at: time)
        }
        switch decision {
        case .current: return ReadState(view: view, time: Timestamp(microseconds: version))
        case .past(let past):
            guard let bounds = try HistoryBounds.read(view.storage), past >= bounds.floor else {
                throw TransactionTable.tooOld
            }
            return ReadState(view, of: version, at: past, PastLookup(parts, reads.documents, parts.pastMeter(context)))
        case .later: return nil
        }
    }
}

extension ReadState {
    /// - Parameter past: a version up to the snapshot's, which the log still covers.
    init(_ view: DocumentView, of snapshot: Int64, at past: Int64, _ lookup: PastLookup) {
        time = Timestamp(microseconds: past)
        self.view = past == snapshot ? view : DocumentView(view.storage, view.catalog, at: past, lookup)
    }
}
