import StorageEngine

/// A log of RocksDB's, as far as it tells where its commits end. Each record is one commit, and begins with the numbers of its
/// first row and of its rows.
struct RocksDBLog {
    let records: RocksDBRecords
    private let commits: Commits

    var path: String { records.path }
    /// The number of the first commit's first row; nil if there is no commit.
    var first: UInt64? { commits.first }
    /// The number that the next commit's first row has; nil if there is no commit.
    var next: UInt64? { commits.next }

    /// - Parameter last: the number of the last row that was committed; nil if it isn't known.
    /// - Throws: `StorageError` if the file can't be read.
    init(_ path: String, upTo last: UInt64? = nil) throws(StorageError) {
        var commits = Commits(last: last)
        records = try RocksDBRecords(path, for: &commits)
        self.commits = commits
    }

    /// Rows are numbered without gaps.
    private struct Commits: RocksDBRecords.Taker {
        static let headerSize = 12

        let last: UInt64?
        private(set) var first: UInt64?
        private(set) var next: UInt64?

        init(last: UInt64?) { self.last = last }

        mutating func take(_ header: [UInt8]) -> RocksDBRecords.Verdict {
            guard header.count == Self.headerSize else { return .damaged }
            let row = header[..<8].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            let count = header[8...].reversed().reduce(0) { $0 << 8 | UInt64($1) }
            if let next, row != next { return .damaged }
            // It and what follows belong to a commit that failed.
            if let last, row > last { return .end }
            first = first ?? row
            next = row + count
            return .taken
        }

        /// The damaged commit has at least one row.
        private var lowest: UInt64 { next.map { $0 + 1 } ?? 0 }
        private var highest: UInt64 { min(next.map { $0 + 1 << 32 } ?? .max, last ?? .max) }

        var mayContinue: Bool { lowest <= highest }

        /// Rows may contain bytes that look like a commit.
        func mayFollow(_ header: UnsafeRawBufferPointer) -> Bool {
            let row = UInt64(littleEndian: header.loadUnaligned(as: UInt64.self))
            return lowest <= row && row <= highest
        }
    }

    /// Checks all logs of a directory before it is opened, and removes commits from their end that weren't completed.
    ///
    /// - Parameter last: the number of the last row that was committed; rows after it belong to a commit that failed. Nil
    ///   if it isn't known.
    /// - Returns: those that aren't empty, from the oldest to the newest.
    /// - Throws: `StorageError` if a commit is damaged that was completed.
    @discardableResult
    static func repair(_ directory: String, after last: UInt64? = nil) throws(StorageError) -> [RocksDBLog] {
        var logs: [RocksDBLog] = []
        for name in RocksDBFiles.logs(in: directory) { logs.append(try RocksDBLog(directory + "/" + name, upTo: last)) }
        if let damaged = logs.first(where: { $0.records.damage != nil }) { throw damaged.records.isDamaged }
        // Commits go to the last log alone.
        logs.removeAll { $0.records.size == 0 }
        if let torn = logs.dropLast().first(where: { $0.records.end < $0.records.size }), logs.last?.first != nil {
            throw torn.records.isDamaged
        }
        for log in logs { try log.records.cut() }
        return logs
    }
}
