/// The closed set of tables an engine keeps.
package enum StorageTable: Int, CaseIterable, Sendable {
    case documents, index, completions, meta, changes, events, deliveries, users, tree
}

/// Marks a restored file, among its metadata, until the store that opens it first starts a new history there.
package enum RestoredMark {
    package static let key = Array("restored".utf8)
}

/// A consistent view of all tables.
package protocol StorageReader {
    /// - Throws: `StorageError`.
    func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]?

    /// Visits entries by key, bytewise, until the body returns false. The body may read, and scan again, but not write.
    ///
    /// - Throws: `StorageError`, or what the body throws.
    func scan(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws

    /// Visits keys as ``scan(_:_:reverse:_:)`` does, without loading their values.
    ///
    /// - Throws: `StorageError`, or what the body throws.
    func scanKeys(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws

    /// The number of keys in a range, without loading them.
    ///
    /// - Throws: `StorageError`.
    func count(_ table: StorageTable, _ range: KeyRange) throws -> Int

    /// The key in a range that comes after so many others; nil if the range has no more than these.
    ///
    /// - Throws: `StorageError`.
    func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]?
}

/// The one writer's view: it sees its own changes.
package protocol StorageWriter: StorageReader {
    func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws
    func put(_ table: StorageTable, _ rows: RowBlock) throws
    /// Removes a key; it need not exist.
    func delete(_ table: StorageTable, _ key: [UInt8]) throws

    /// Removes the first rows of a range.
    ///
    /// - Returns: the key of the first row that is left; nil if none is. To begin the next removal there saves RocksDB
    ///   the search through what it has removed and not yet forgotten.
    /// - Throws: `StorageError`.
    func removeRange(_ table: StorageTable, _ range: KeyRange, atMost limit: Int) throws -> [UInt8]?

    /// The bytes of memory that its changes take until they are durable.
    var heldBytes: Int { get }
}

extension StorageWriter {
    package var heldBytes: Int { 0 }

    package func put(_ table: StorageTable, _ rows: RowBlock) throws {
        try rows.forEach { try put(table, Array($0), Array($1)) }
    }

    package func removeRange(_ table: StorageTable, _ range: KeyRange, atMost limit: Int) throws -> [UInt8]? {
        var keys: [[UInt8]] = []
        var next: [UInt8]?
        try scanKeys(table, range, reverse: false) { key in
            guard keys.count < limit else {
                next = key
                return false
            }
            keys.append(key)
            return true
        }
        for key in keys { try delete(table, key) }
        return next
    }
}

/// One reader's access; used by one thread at a time.
package protocol ReadSession: AnyObject {
    /// Runs the body on one snapshot of the durable state.
    func read<Result>(_ body: (any StorageReader) throws -> Result) throws -> Result
}

/// An ordered key-value store with atomic, durable batches and snapshot reads.
package protocol StorageEngine: Sendable {
    func makeReadSession() throws -> any ReadSession

    /// Runs the body as the only writer and returns once its changes are durable.
    ///
    /// - Throws: what the body throws, or `StorageError`; none of the changes are kept then.
    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result

    /// Does what may follow writes once their callers have been answered, such as moving what a log holds to its place. A
    /// failure is left to the next time.
    func settle()

    /// Closes the files. Sessions must no longer be in use.
    func close() throws
}

extension StorageEngine {
    package func settle() {}
}
