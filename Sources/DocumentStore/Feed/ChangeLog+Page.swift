import CommitPipeline
import StorageEngine
import DocumentModel

extension ChangeLog {
    /// The commits after a version that changed documents, in order; each is complete.
    ///
    /// - Parameter limit: the bytes after which the page ends. Changes of other kinds of data count too, so that a page
    ///   takes a bounded time; it may have no commit for this reason and not be the last.
    static func page(
        after version: Int64, snapshot: Int64, atMostBytes limit: Int, in storage: any StorageReader
    ) throws -> FeedPage {
        try checkReach(to: version, snapshot: snapshot, in: storage)
        var page = FeedPage(commits: [], position: Timestamp(microseconds: snapshot), isLast: true)
        var (bytes, last) = (0, version)
        try storage.scan(.changes, range(after: version), reverse: false) { key, value in
            let key = try Key(key)
            if key.version != last {
                if bytes >= max(limit, 1) {
                    page.position = Timestamp(microseconds: last)
                    page.isLast = false
                    return false
                }
                last = key.version
            }
            bytes += key.size
            guard key.kind == DocumentWriter.id else { return true }
            let time = Timestamp(microseconds: last)
            if page.commits.last?.time != time { page.commits.append(FeedCommit(time: time, changes: [])) }
            page.commits[page.commits.count - 1].changes.append(try change(key, value))
            return true
        }
        return page
    }

    /// The differences between two versions: one change for each document that changed.
    ///
    /// - Parameter covers: selects documents by their keys.
    /// - Returns: nil if the changes have more bytes than allowed, as they are stored or in memory.
    static func difference(
        after version: Int64, upTo last: Int64, atMostBytes limit: Int, in storage: any StorageReader,
        _ meter: QueryMeter, covers: (ArraySlice<UInt8>) -> Bool
    ) throws -> [DocumentChange]? {
        try checkReach(to: version, snapshot: last, in: storage)
        var changes: [DocumentChange] = []
        var bytes = 0
        try scanKeys(DocumentWriter.self, range(after: version, upTo: last), in: storage) { key in
            try meter.readEntries()
            guard covers(key.recordKey) else { return true }
            guard let value = try storage.get(.changes, key.bytes) else {
                throw DecodingFailure("the change log lost a row")
            }
            var size = key.size
            if bytes + size <= limit {
                let found = try change(key, value)
                // Many small values take a multiple of what is stored.
                size = max(size, found.weight)
                if bytes + size <= limit { changes.append(found) }
            }
            bytes += size
            return bytes <= limit
        }
        return bytes <= limit ? DocumentChange.folded(changes) : nil
    }

    /// - Throws: `failedPrecondition` if the log doesn't have all changes after a version.
    static func checkReach(to version: Int64, snapshot: Int64, in storage: any StorageReader) throws {
        let floor = try HistoryBounds.read(storage)?.floor ?? snapshot
        guard version >= floor else {
            throw DocumentError(
                .failedPrecondition,
                "the changes after \(Timestamp(microseconds: version)) are no longer kept, only those after "
                    + "\(Timestamp(microseconds: floor)); start over")
        }
        guard version <= snapshot else {
            throw DocumentError(
                .failedPrecondition,
                "the position \(Timestamp(microseconds: version)) is after the newest commit, which was at "
                    + "\(Timestamp(microseconds: snapshot)), so it is none of this store; start over")
        }
    }
}

extension DocumentChange {
    /// Combines changes, in order, into one for each document, without documents that ended as they began.
    static func folded(_ changes: [DocumentChange]) -> [DocumentChange] {
        guard changes.count > 1 else { return changes }
        var folded: [DocumentChange] = []
        var places: [DocumentPath: Int] = [:]
        for change in changes {
            if let place = places[change.path] {
                folded[place].after = change.after
            } else {
                places[change.path] = folded.count
                folded.append(change)
            }
        }
        return folded.filter { $0.before != nil || $0.after != nil }
    }
}
