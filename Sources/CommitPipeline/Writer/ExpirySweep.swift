import DocumentModel
import StorageEngine

/// Removes expired rows with their entries.
///
/// An engine that writes logs steps over removed rows one by one in a scan. So a sweep begins where the last one has ended.
struct ExpirySweep {
    private let entries: ExpiryEntries
    /// No row expires before it; nil if that isn't known.
    private var bound: Int64?

    init(_ entries: ExpiryEntries) { self.entries = entries }

    /// - Parameter limit: the rows that are removed at most.
    /// - Returns: whether there may be more.
    mutating func run(in storage: any StorageWriter, at now: Timestamp, atMost limit: Int) throws -> Bool {
        // The clock was set back: rows that are stored now may expire before it.
        if let bound, now.microseconds < bound { restart() }
        var expired: [[UInt8]] = []
        try storage.scanKeys(
            entries.table, entries.range(from: bound, before: now.microseconds), reverse: false
        ) { key in
            expired.append(key)
            return expired.count < limit
        }
        for key in expired {
            try storage.delete(entries.table, key)
            if let entry = ExpiryEntries.parts(of: key) { try storage.delete(entries.table, entry.row) }
        }
        guard expired.count == limit, let last = expired.last else {
            bound = now.microseconds
            return false
        }
        if let entry = ExpiryEntries.parts(of: last) { bound = entry.time }
        return true
    }

    /// What was removed may be there again.
    mutating func restart() { bound = nil }
}
