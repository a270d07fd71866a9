import CRocksDB
import Foundation
import StorageEngine

/// What rows are read from: a snapshot, or the newest state.
///
/// Used by one thread at a time.
final class RocksDBReader: StorageReader {
    private let database: OpaquePointer
    private let directory: String
    private let largeValues: RocksDBLargeValues
    private let mayHoldRanges: Bool
    private let options: OpaquePointer
    private let snapshot: OpaquePointer?

    /// - Parameters:
    ///   - store: what errors name.
    ///   - snapshot: nil for the newest state. The caller releases it.
    init(_ database: OpaquePointer, of store: RocksDBHandle, snapshot: OpaquePointer?) {
        self.database = database
        (directory, largeValues, mayHoldRanges) = (store.directory, store.largeValues, store.mayHoldRanges)
        self.snapshot = snapshot
        options = Self.makeOptions(snapshot)
    }

    deinit { rocksdb_readoptions_destroy(options) }

    private static func makeOptions(_ snapshot: OpaquePointer?) -> OpaquePointer {
        guard let options = rocksdb_readoptions_create() else { fatalError("there is no memory left") }
        if let snapshot { rocksdb_readoptions_set_snapshot(options, snapshot) }
        return options
    }

    func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
        try RocksDBKey.with(table, key) { try get($0, $1) }
    }

    private func get(_ key: UnsafePointer<CChar>?, _ count: Int) throws -> [UInt8]? {
        guard let found = try reading({ rocksdb_get_pinned(database, options, key, count, $0) }) else {
            return nil
        }
        defer { rocksdb_pinnableslice_destroy(found) }
        var length = 0
        return Self.bytes(rocksdb_pinnableslice_value(found, &length), length)
    }

    private func reading<Result>(
        _ body: (UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>) -> Result
    ) throws(StorageError) -> Result {
        do { return try calling(directory, body) } catch { throw largeValues.naming(error) }
    }

    private static func bytes(_ start: UnsafePointer<CChar>?, _ count: Int) -> [UInt8] {
        Array(UnsafeRawBufferPointer(start: start, count: count))
    }

    func scan(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws {
        try iterate(table, range, reverse: reverse) { iterator, key in
            var length = 0
            let value = rocksdb_iter_value(iterator, &length)
            return try body(Array(key), Self.bytes(value, length))
        }
    }

    func scanKeys(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws {
        try iterate(table, range, reverse: reverse) { _, key in try body(Array(key)) }
    }

    func count(_ table: StorageTable, _ range: KeyRange) throws -> Int {
        var count = 0
        try iterate(table, range, reverse: false) { _, _ in
            count += 1
            return true
        }
        return count
    }

    func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]? {
        var (left, found) = (count, [UInt8]?.none)
        try iterate(table, range, reverse: false) { _, key in
            guard left == 0 else {
                left -= 1
                return true
            }
            found = Array(key)
            return false
        }
        return found
    }

    /// - Parameter body: receives the key without its table, which is valid during the call.
    private func iterate(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool,
        _ body: (_ iterator: OpaquePointer, _ key: UnsafeRawBufferPointer) throws -> Bool
    ) throws {
        guard !range.isEmpty else { return }
        let end = RocksDBKey.end(of: range, in: table)
        try RocksDBKey.with(table, range.lower) { lower, lowerCount in
            try end.withUnsafeBytes { end in
                let upper = end.assumingMemoryBound(to: CChar.self).baseAddress
                let options = Self.makeOptions(snapshot)
                defer { rocksdb_readoptions_destroy(options) }
                rocksdb_readoptions_set_iterate_lower_bound(options, lower, lowerCount)
                rocksdb_readoptions_set_iterate_upper_bound(options, upper, end.count)
                if !mayHoldRanges { rocksdb_readoptions_set_ignore_range_deletions(options, 1) }
                guard let iterator = rocksdb_create_iterator(database, options) else { throw StorageError.noMemory }
                defer { rocksdb_iter_destroy(iterator) }
                if reverse { rocksdb_iter_seek_to_last(iterator) } else { rocksdb_iter_seek_to_first(iterator) }
                while let key = Self.key(of: iterator) {
                    guard try body(iterator, UnsafeRawBufferPointer(rebasing: key[1...])) else { return }
                    if reverse { rocksdb_iter_prev(iterator) } else { rocksdb_iter_next(iterator) }
                }
                try reading { rocksdb_iter_get_error(iterator, $0) }
            }
        }
    }

    /// The engine's own row with the version.
    static let versionKey = Array("version".utf8)

    /// - Throws: `StorageError` if the store isn't ours, or is newer.
    func checkVersion(as role: RocksDBFiles.Role) throws {
        let found = try Self.versionKey.withUnsafeBytes { try RocksDBKey.with(RocksDBKey.own, $0) { try get($0, $1) } }
        guard let version = found?.first else {
            throw StorageError(
                .damaged, "\(directory) is a database of something else; name another one or another data directory")
        }
        guard version <= RocksDBEngine.version else {
            throw StorageError(
                .newer,
                "\(role.name) \(directory) has version \(version), newer than \(RocksDBEngine.version), the newest that "
                    + "this program knows; use a newer program")
        }
    }

    private static func key(of iterator: OpaquePointer) -> UnsafeRawBufferPointer? {
        guard rocksdb_iter_valid(iterator) != 0 else { return nil }
        var count = 0
        let start = rocksdb_iter_key(iterator, &count)
        return UnsafeRawBufferPointer(start: start, count: count)
    }
}
