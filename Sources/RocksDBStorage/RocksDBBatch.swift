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

    /// Adds the stored rows that are removed, and then those that differ. In the order of keys, each finds its place near
    /// the one before.
    ///
    /// RocksDB could remove a range as one, for a little at each later read. But while there is such a range anywhere, it
    /// needs the version of its scans that can pass by damage: see ``RocksDBHandle/mayHoldRanges``.
    func add(_ rows: StorageBatch) throws {
        try rows.forEachRemovedRange { table, range in
            try rows.base.scanKeys(table, range, reverse: false) { key in
                key.withUnsafeBytes { delete(table, $0) }
                return true
            }
        }
        rows.forEach { table, key, value in
            if let value { put(UInt8(table.rawValue), key, value) } else { delete(table, key) }
        }
    }

    private func delete(_ table: StorageTable, _ key: UnsafeRawBufferPointer) {
        RocksDBKey.with(UInt8(table.rawValue), key) { rocksdb_writebatch_delete(batch, $0, $1) }
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
