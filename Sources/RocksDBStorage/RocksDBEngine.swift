import CRocksDB
import Foundation
package import StorageEngine

/// An embedded engine for many small rows at random places: a directory of RocksDB's sorted tables and its log.
///
/// Each commit is one record of the log, which is synced. The process owns the directory while the engine is open.
package final class RocksDBEngine: StorageEngine {
    /// The version of what our rows mean to the engine. A store with a higher one is refused.
    static let version: UInt8 = 1

    let directory: String
    /// Admits one writer at a time.
    private let oneWriter = NSLock()
    // Touched only with `oneWriter`. Empty between batches; it keeps their memory.
    nonisolated(unsafe) private var rows: StorageBatch?
    /// Admits one backup at a time.
    let oneCopy = NSLock()
    let handle: RocksDBHandle
    /// Where one state is kept while it is copied or checked.
    var checkpoint: String { directory + ".checkpoint" }

    /// Opens the store, or creates it if it is missing.
    ///
    /// - Throws: `StorageError` if it is damaged, was written by a newer version or can't be used.
    package convenience init(directory: String) throws {
        if StoreFile.exists(directory) {
            try RocksDBFiles.check(directory)
        } else {
            try Self.create(directory)
        }
        try self.init(existing: directory)
    }

    /// - Parameter directory: has been checked.
    init(existing directory: String, as role: RocksDBFiles.Role = .store) throws {
        self.directory = directory
        handle = try RocksDBHandle(directory, isDraft: role == .backup)
        do {
            // Left behind by a process that was killed; the second is RocksDB's, before it is complete.
            for suffix in ["", ".tmp"] { StoreFile.removeAll(checkpoint + suffix) }
            try RocksDBFiles.keepPrivate(directory)
            try handle.reading { try RocksDBReader($0, of: handle, snapshot: nil).checkVersion(as: role) }
            if handle.refusal == nil { handle.mayHoldRanges = try handle.reading { !Self.holdsNoRanges($0) } }
        } catch {
            handle.close()
            throw error
        }
    }

    /// Whether no range was removed as such, as earlier programs did it, or none is left.
    ///
    /// - Parameter database: has just been opened for commits, so that all its rows are in tables.
    private static func holdsNoRanges(_ database: OpaquePointer) -> Bool {
        guard let properties = rocksdb_property_value(database, "rocksdb.aggregated-table-properties") else {
            return false
        }
        defer { rocksdb_free(properties) }
        return String(cString: properties).contains("# range deletions=0;")
    }

    package func makeReadSession() throws -> any ReadSession { RocksDBReadSession(handle) }

    package func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        oneWriter.lock()
        defer { oneWriter.unlock() }
        return try handle.writing { pointer, refusal in
            let base = RocksDBReader(pointer, of: handle, snapshot: nil)
            let rows = rows ?? StorageBatch(over: base)
            rows.base = base
            self.rows = rows
            defer { rows.removeAll() }
            let result = try body(rows)
            if rows.isEmpty { return result }
            if let refusal { throw refusal }
            let batch = try RocksDBBatch()
            try batch.add(rows)
            // Both would be held until the batch is durable.
            rows.removeAll()
            try commit(batch, to: pointer)
            return result
        }
    }

    private func commit(_ batch: RocksDBBatch, to database: OpaquePointer) throws(StorageError) {
        let lastRow = rocksdb_get_latest_sequence_number(database)
        do throws(StorageError) {
            try batch.commit(to: database, directory: directory)
        } catch {
            // RocksDB reports here what it has found while it merged tables, too.
            let named = handle.largeValues.naming(error)
            handle.stop(after: lastRow, because: named)
            throw named
        }
    }

    package func close() throws { handle.close() }

    /// Creates the store under another name first, so that one with the real name is always complete.
    private static func create(_ directory: String) throws {
        let draft = directory + ".unfinished"
        try makeEmpty(draft)
        try StoreFile.move(draft, to: directory)
        try StoreFile.syncDirectory(of: directory)
    }

    /// Makes an empty store; one that is there is replaced.
    static func makeEmpty(_ draft: String) throws {
        StoreFile.removeAll(draft)
        guard mkdir(draft, 0o700) == 0 else { throw StoreFile.refusal("\(draft) can't be written") }
        let handle = try RocksDBHandle(creating: draft)
        defer { handle.close() }
        try handle.writing { pointer, _ in
            let batch = try RocksDBBatch()
            batch.put(own: RocksDBReader.versionKey, [version])
            try batch.commit(to: pointer, directory: draft)
        }
    }
}

/// One reader: each read has a snapshot of its own.
final class RocksDBReadSession: ReadSession {
    private let handle: RocksDBHandle

    init(_ handle: RocksDBHandle) { self.handle = handle }

    func read<Result>(_ body: (any StorageReader) throws -> Result) throws -> Result {
        try handle.reading { pointer in
            let snapshot = rocksdb_create_snapshot(pointer)
            defer { rocksdb_release_snapshot(pointer, snapshot) }
            return try body(RocksDBReader(pointer, of: handle, snapshot: snapshot))
        }
    }
}
