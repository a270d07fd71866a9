import CRocksDB
import StorageEngine

/// Rows that are stored together: one record of the log.
final class RocksDBBatch {
    private let batch: OpaquePointer

    init() throws(StorageError) {
        guard let batch = rocksdb_writebatch_create() else { throw StorageError.noMemory }
        self.batch = batch
    }

    deinit { rocksdb_writebatch_destroy(batch) }

    /// Adds the ranges that are removed, and then the rows that differ. In the order of keys, each finds its place near
    /// the one before.
    func add(_ rows: StorageBatch) {
        rows.forEachRemovedRange { removeRange($0, $1) }
        rows.forEach { table, key, value in
            if let value {
                put(UInt8(table.rawValue), key, value)
            } else {
                RocksDBKey.with(UInt8(table.rawValue), key) { key, count in
                    rocksdb_writebatch_delete(batch, key, count)
                }
            }
        }
    }

    private func removeRange(_ table: StorageTable, _ range: KeyRange) {
        let end = RocksDBKey.end(of: range, in: table)
        RocksDBKey.with(table, range.lower) { lower, count in
            end.withUnsafeBytes { end in
                rocksdb_writebatch_delete_range(
                    batch, lower, count, end.assumingMemoryBound(to: CChar.self).baseAddress, end.count)
            }
        }
    }

    func put(own key: [UInt8], _ value: [UInt8]) {
        key.withUnsafeBytes { key in value.withUnsafeBytes { put(RocksDBKey.own, key, $0) } }
    }

    private func put(_ prefix: UInt8, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer) {
        RocksDBKey.with(prefix, key) { key, count in
            rocksdb_writebatch_put(
                batch, key, count, value.assumingMemoryBound(to: CChar.self).baseAddress, value.count)
        }
    }

    /// Writes the batch, and syncs the log.
    func commit(to database: OpaquePointer, directory: String) throws(StorageError) {
        guard let options = rocksdb_writeoptions_create() else { throw StorageError.noMemory }
        defer { rocksdb_writeoptions_destroy(options) }
        rocksdb_writeoptions_set_sync(options, 1)
        try calling(directory) { rocksdb_write(database, options, batch, $0) }
    }
}
