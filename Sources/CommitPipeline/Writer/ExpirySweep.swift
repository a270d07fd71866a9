import DocumentModel
import StorageEngine

/// Removes expired rows, which entries list by expiry time. An entry's key has a byte for its kind, the time, and the row's key.
///
/// An engine that writes logs steps over removed rows one by one in a scan. So a sweep begins where the last one has ended.
struct ExpirySweep {
    private let table: StorageTable
    private let kind: UInt8
    /// No row expires before it, in microseconds since 1970.
    private var bound = Int64.min

    init(_ table: StorageTable, kind: UInt8) {
        self.table = table
        self.kind = kind
    }

    /// - Parameter limit: the rows that are removed at most.
    /// - Returns: whether there may be more.
    mutating func run(in storage: any StorageWriter, at now: Timestamp, atMost limit: Int) throws -> Bool {
        // The clock was set back: rows that are stored now may expire before it.
        if now.microseconds < bound { bound = .min }
        var expired: [[UInt8]] = []
        let range = KeyRange(lower: bound == .min ? [kind] : key(bound), upper: key(now.microseconds))
        try storage.scanKeys(table, range, reverse: false) { key in
            expired.append(key)
            return expired.count < limit
        }
        for key in expired {
            try storage.delete(table, key)
            // A key that is too short names no row: this program didn't write it.
            if key.count > Self.timeEnd { try storage.delete(table, Array(key[Self.timeEnd...])) }
        }
        guard expired.count == limit, let last = expired.last else {
            bound = now.microseconds
            return false
        }
        if last.count >= Self.timeEnd { bound = Self.time(last) }
        return true
    }

    /// What was removed may be there again.
    mutating func restart() { bound = .min }

    private static let timeEnd = 9

    private func key(_ time: Int64) -> [UInt8] {
        var key = [kind]
        KeyBytes.append(UInt64(bitPattern: time) ^ 1 << 63, to: &key)
        return key
    }

    private static func time(_ key: [UInt8]) -> Int64 {
        Int64(bitPattern: key[1..<timeEnd].reduce(0) { $0 << 8 | UInt64($1) } ^ 1 << 63)
    }
}
