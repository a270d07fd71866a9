package import DocumentModel
package import StorageEngine

/// The open batch: many commits that one sync makes durable together.
///
/// Used on the writer's thread, and only while the batch is open.
package final class CommitBatch {
    /// Passed to the parts of commits and to the kinds when they may write.
    let writer: any StorageWriter
    package let versions: VersionCounter
    let outbox: OutboxBatch
    private let clock: @Sendable () -> Timestamp
    private let waiting: @Sendable () -> Bool
    private let routes: () -> EventRoutes
    /// The change log with the batch's rows.
    private(set) var history: HistoryBounds
    private(set) var loggedRows = 0
    private(set) var lastLogged: Int64?
    /// The size at which the batch is full.
    package let maxBytes: Int
    /// The approximate size of the batch's content.
    package private(set) var bytes = 0
    /// Whether it is to have nothing but one job, so that damage which it meets can be that job's alone.
    package internal(set) var isForOneJob = false
    private var answers: [(DocumentError?) -> Void] = []

    /// The rows that are held until they are stored.
    private static let maxHeldBytes = 32 << 20

    init(
        _ outbox: OutboxBatch, history: HistoryBounds, maxBytes: Int, routes: @escaping () -> EventRoutes,
        now: @escaping @Sendable () -> Timestamp, hasWaitingJobs: @escaping @Sendable () -> Bool
    ) {
        self.outbox = outbox
        writer = outbox.storage
        versions = outbox.versions
        self.history = history
        self.maxBytes = maxBytes
        clock = now
        waiting = hasWaitingJobs
        self.routes = routes
    }

    /// The state in the open batch.
    package var storage: any StorageReader { writer }

    package func now() -> Timestamp { clock() }

    /// Whether jobs are waiting for the next batch.
    package var hasWaitingJobs: Bool { waiting() }

    /// Holds a response back until the batch is durable, because it depends on the batch's content.
    ///
    /// - Parameter answer: called with the error if nothing of the batch was kept.
    package func whenDurable(_ answer: @escaping (DocumentError?) -> Void) { answers.append(answer) }

    /// Appends a change of a kind's record to the change log.
    package func log(
        _ key: [UInt8], of kind: any DataKind.Type, before: [UInt8]?, after: [UInt8]?, version: Int64
    ) throws {
        history.bytes += try ChangeLog.append(
            version: version, recordKey: ChangeLog.recordKey(key, of: kind), before: before, after: after,
            to: writer)
        loggedRows += 1
        lastLogged = version
    }

    /// Reports damage that stops work which no caller waits for, once for each such work.
    ///
    /// - Parameter work: what doesn't go on, for the log.
    package func report(_ damage: StorageError, _ work: String) { outbox.damage.note(damage, work) }

    /// Reports that a commit is refused because rows can't be read at the moment: once a minute.
    package func reportUnread(_ error: StorageError) { outbox.damage.noteUnread(error) }

    /// Adds to the batch's size.
    package func add(bytes added: Int) { bytes += added }

    var isFull: Bool { bytes >= maxBytes || writer.heldBytes >= Self.maxHeldBytes }

    /// Validates and applies a commit. A refused commit leaves no trace in the batch.
    ///
    /// - Throws: if storing failed half-way and the batch must not be kept.
    package func run(_ commit: Commit) throws -> CommitOutcome {
        let outcome: CommitOutcome
        do {
            outcome = try apply(commit)
        } catch let failure as BatchFailure {
            throw failure.underlying
        } catch let error as StorageError where !error.isOfRows {
            throw error
        } catch {
            // If SQLite has rolled the batch back for it, nothing is kept.
            if let unread = error as? StorageError, unread.kind == .unavailable { reportUnread(unread) }
            outcome = .refused(DocumentError(from: error))
        }
        for part in commit.parts { part.end(outcome) }
        return outcome
    }

    private func apply(_ commit: Commit) throws -> CommitOutcome {
        var key = commit.context.completion
        for part in commit.parts {
            let begun = try part.begin(commit)
            key = key ?? begun
        }
        let now = now()
        if let key, commit.answer != nil,
            let earlier = try CompletionRecord.answer(to: key, in: storage, at: now, within: commit.context.answer)
        {
            return .completedBefore(earlier)
        }
        let delivery = try outbox.delivery(of: commit.context, completing: commit.answer != nil)
        // Read once: all events of a commit are delivered by the same routes.
        let routes = routes()
        let version = versions.next(at: now)
        for part in commit.parts { try part.prepare(commit, version: version, by: routes, in: self) }
        try outbox.check(commit.effects, by: routes, commit.context, at: now)
        do {
            for part in commit.parts { try part.apply(version: version, in: self, to: writer) }
            if let key, let answer = commit.answer {
                try CompletionRecord.store(answer, for: key, in: writer, at: now)
            }
            if let delivery { try outbox.complete(delivery, under: commit.context.delivery, at: now) }
            let caused = commit.context.firesEvents ? commit.parts.flatMap { $0.events(by: routes) } : []
            if !caused.isEmpty || !commit.effects.isEmpty {
                bytes += try outbox.put(
                    caused, commit.effects, by: routes, version: version, commit.context, at: now)
            }
        } catch {
            throw BatchFailure(underlying: error)
        }
        return .applied(version: versions.applied)
    }

    /// Removes expired rows of the change log, in steps that keep up with new rows.
    ///
    /// - Returns: whether more rows should be removed.
    func trimHistory(
        upTo old: Int64, oldestActiveRead: Int64, maxBytes: Int, from durable: HistoryBounds
    ) throws -> Bool {
        try history.trim(
            upTo: old, oldestActiveRead: oldestActiveRead, maxBytes: maxBytes, atMost: 2 * loggedRows + 64,
            orBytes: 2 * (history.bytes - durable.bytes), in: writer)
    }

    /// Stores the change log's bounds if the batch has changed them.
    func keepHistory(from durable: HistoryBounds) throws {
        if history != durable { try history.write(to: writer) }
    }

    /// Answers all callers that waited for the batch.
    func answer(_ error: DocumentError?) {
        for answer in answers { answer(error) }
        answers = []
    }
}

/// Storing failed between a commit's first change and its last.
private struct BatchFailure: Error {
    var underlying: any Error
}
