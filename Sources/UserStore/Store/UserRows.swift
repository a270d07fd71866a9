import CommitPipeline
import DocumentModel
import StorageEngine

/// The users as a kind of data: removes what has expired, and checks what is stored.
final class UserRows: DataKind {
    static let id: UInt8 = 1

    private static let sweepInterval: Duration = .seconds(60)
    private static let sweptAtOnce = 500
    /// The kinds of rows that are swept.
    private static let kinds = 4
    /// Seconds after a message was due. It is given up long before, if messages are sent at all.
    private static let messagesKeptFor: Int64 = 2 * 86_400

    private let now: @Sendable () -> Timestamp
    private let elapsed: @Sendable () -> Duration
    /// When each kind of row was last swept to its end, or its sweep has failed.
    // Used on the writer's thread.
    nonisolated(unsafe) private var sweptAt: [String: Duration] = [:]
    // As `sweptAt`.
    nonisolated(unsafe) private var nextAttempts: [UInt8]?

    init(now: @escaping @Sendable () -> Timestamp, elapsed: @escaping @Sendable () -> Duration) {
        self.now = now
        self.elapsed = elapsed
    }

    func work(in batch: CommitBatch, to storage: any StorageWriter, isIdle: Bool) throws {
        guard !batch.isForOneJob else { return }
        let time = elapsed()
        guard sweptAt.count < Self.kinds || sweptAt.values.contains(where: { time - $0 >= Self.sweepInterval }) else {
            return
        }
        let seconds = now().microseconds / 1_000_000
        let sweeps: [(rows: String, run: () throws -> Bool)] = [
            ("codes", { try self.sweep(storage, UserKeys.expired(at: seconds)) { UserKeys.code($0) } }),
            (
                "consumed tokens",
                { try self.sweep(storage, UserKeys.consumedAndExpired(at: seconds)) { UserKeys.consumed($0) } }
            ),
            (
                "failed attempts",
                {
                    try self.sweepAttempts(storage, at: seconds) {
                        batch.report($0, "removing old failed attempts of users")
                    }
                }
            ),
            (
                "messages",
                {
                    try self.sweepMessages(storage, at: seconds) {
                        batch.report($0, "removing old messages of users")
                    }
                }
            ),
        ]
        for sweep in sweeps where sweptAt[sweep.rows].map({ time - $0 >= Self.sweepInterval }) ?? true {
            // Before it runs: if SQLite rolls the batch back for what it has read, the next batch doesn't meet it again.
            sweptAt[sweep.rows] = time
            do {
                // The next batch continues.
                if try !sweep.run() { sweptAt[sweep.rows] = nil }
            } catch let error as StorageError where error.isOfRows {
                // No commit needs what is to be removed, so that none fails because of it.
                batch.report(error, "removing old \(sweep.rows) of users")
            }
        }
    }

    /// Deletes messages that were left to lie: without sign-in, no message is sent.
    ///
    /// - Parameter unread: called for each message that can't be read. It stays, with the row that says when it is due.
    /// - Returns: whether none is left.
    /// - Throws: before anything is written, if the error is of rows.
    private func sweepMessages(
        _ storage: any StorageWriter, at now: Int64, unread: (StorageError) -> Void
    ) throws -> Bool {
        var left: [[UInt8]] = []
        for lane in OutgoingMessage.Lane.allCases {
            let range = KeyRange(
                lower: [UserKeys.due(lane).rawValue],
                upper: UserKeys.messageDue([], lane, at: now - Self.messagesKeptFor))
            try storage.scanKeys(.users, range, reverse: false) { key in
                left.append(key)
                return left.count < Self.sweptAtOnce
            }
        }
        guard !left.isEmpty else { return true }
        let transaction = UserTransaction(storage, now: self.now())
        var gone: [[UInt8]] = []
        for key in left {
            let subject = UserKeys.hash(in: key)
            do {
                _ = try transaction.message(subject)
            } catch is DecodingFailure {
                // It is deleted.
            } catch let error as StorageError where error.isOfRows {
                unread(error)
                continue
            }
            try transaction.deleteMessage(subject)
            gone.append(key)
        }
        // Also the due row of a message whose own is forgotten.
        for key in gone { try storage.delete(.users, key) }
        for (key, value) in transaction.changes {
            if let value { try storage.put(.users, key, value) } else { try storage.delete(.users, key) }
        }
        // Rows that stay are looked at again after a while, not in each batch.
        return gone.count < left.count || left.count < Self.sweptAtOnce
    }

    /// Deletes what has expired.
    ///
    /// - Parameters:
    ///   - range: the keys, by time of expiry and hash, of what has.
    ///   - row: the key of what has a hash.
    /// - Returns: whether nothing is left.
    private func sweep(
        _ storage: any StorageWriter, _ range: KeyRange, _ row: (_ hash: [UInt8]) -> [UInt8]
    ) throws -> Bool {
        var expired: [[UInt8]] = []
        try storage.scanKeys(.users, range, reverse: false) { key in
            expired.append(key)
            return expired.count < Self.sweptAtOnce
        }
        for key in expired {
            try storage.delete(.users, key)
            try storage.delete(.users, row(UserKeys.hash(in: key)))
        }
        return expired.count < Self.sweptAtOnce
    }

    /// Looks at some of the attempts, after those that it has looked at before.
    ///
    /// - Parameter damaged: called for each that the engine finds damaged. They stay.
    /// - Returns: whether it has come to the end.
    private func sweepAttempts(
        _ storage: any StorageWriter, at now: Int64, damaged: (StorageError) -> Void
    ) throws -> Bool {
        var range = UserKeys.all(.attempts)
        if let nextAttempts { range.lower = nextAttempts }
        var (seen, old, next) = (0, [[UInt8]](), [UInt8]?.none)
        try storage.scan(.users, range, damaged: { _, error in damaged(error) }) { key, value in
            guard seen < Self.sweptAtOnce else {
                next = key
                return false
            }
            seen += 1
            let lastAt = (try? FailedAttempts(stored: value))?.lastAt ?? 0
            if lastAt <= now - FailedAttempts.keptFor { old.append(key) }
            return true
        }
        for key in old { try storage.delete(.users, key) }
        nextAttempts = next
        return next == nil
    }

    func check(_ run: CheckRun) throws -> (any Sendable)? {
        var count = 0
        try run.part("the users") { count = try UserCheck(run).check() }
        return count
    }
}
