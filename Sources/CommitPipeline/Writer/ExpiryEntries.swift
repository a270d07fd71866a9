import StorageEngine

/// Entries that list rows of a table by the time at which they expire. An entry's key has a byte for its kind, the time in
/// microseconds since 1970, and the row's key.
struct ExpiryEntries: Sendable {
    /// Where the rows and the entries are.
    let table: StorageTable
    private let kind: UInt8
    private static let timeEnd = 9

    init(_ table: StorageTable, kind: UInt8) {
        self.table = table
        self.kind = kind
    }

    func key(_ time: Int64, of row: [UInt8]) -> [UInt8] {
        var key = [kind]
        KeyBytes.append(UInt64(bitPattern: time) ^ 1 << 63, to: &key)
        return key + row
    }

    /// - Parameter first: nil for all before `end`.
    func range(from first: Int64?, before end: Int64) -> KeyRange {
        KeyRange(lower: first.map { key($0, of: []) } ?? [kind], upper: key(end, of: []))
    }

    /// Nil for a key that this program didn't write.
    static func parts(of key: [UInt8]) -> (time: Int64, row: [UInt8])? {
        guard key.count > timeEnd else { return nil }
        let time = Int64(bitPattern: key[1..<timeEnd].reduce(0) { $0 << 8 | UInt64($1) } ^ 1 << 63)
        return (time, Array(key[timeEnd...]))
    }
}
