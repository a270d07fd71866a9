import GRDB
import GRDBSQLite

/// The tables seen through one connection, with its compiled statements.
///
/// Belongs to its connection: used only inside that connection's queue.
final class SQLiteTables: StorageWriter {
    private let database: Database
    private let file: String
    /// Compiled statements that nobody uses at the moment; a nested scan takes another one.
    private var idle: [String: [Statement]] = [:]
    private let sql: [TableSQL]

    init(_ database: Database, file: String) {
        self.database = database
        self.file = file
        self.sql = StorageTable.allCases.map(TableSQL.init)
    }

    func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
        try using(sql[table.rawValue].get) { statement in
            bind(key, at: 1, of: statement)
            return try step(statement) ? blob(statement, 0) : nil
        }
    }

    func scan(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws {
        guard !range.isEmpty else { return }
        try using(sql[table.rawValue].scan[range, reverse]) { statement in
            bind(range, to: statement)
            while try step(statement) {
                guard try body(blob(statement, 0), blob(statement, 1)) else { return }
            }
        }
    }

    func scanKeys(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws {
        guard !range.isEmpty else { return }
        try using(sql[table.rawValue].scanKeys[range, reverse]) { statement in
            bind(range, to: statement)
            while try step(statement) {
                guard try body(blob(statement, 0)) else { return }
            }
        }
    }

    func count(_ table: StorageTable, _ range: KeyRange) throws -> Int {
        guard !range.isEmpty else { return 0 }
        return try using(sql[table.rawValue].count[range, false]) { statement in
            bind(range, to: statement)
            return try step(statement) ? Int(sqlite3_column_int64(statement, 0)) : 0
        }
    }

    func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws {
        try using(sql[table.rawValue].put) { statement in
            bind(key, at: 1, of: statement)
            bind(value, at: 2, of: statement)
            _ = try step(statement)
        }
    }

    func delete(_ table: StorageTable, _ key: [UInt8]) throws {
        try using(sql[table.rawValue].delete) { statement in
            bind(key, at: 1, of: statement)
            _ = try step(statement)
        }
    }

    /// Runs a statement without parameters, such as `BEGIN`.
    func run(_ sql: String) throws {
        try using(sql) { _ = try step($0) }
    }

    /// Lets go of compiled statements; they are compiled again when they are needed.
    func forgetStatements() { idle = [:] }

    private func using<Result>(_ sql: String, _ body: (OpaquePointer) throws -> Result) throws -> Result {
        let statement: Statement
        if let cached = idle[sql]?.popLast() {
            statement = cached
        } else {
            do { statement = try database.makeStatement(sql: sql) } catch { throw StorageError(error, file: file) }
        }
        defer {
            sqlite3_reset(statement.sqliteStatement)
            idle[sql, default: []].append(statement)
        }
        return try body(statement.sqliteStatement)
    }

    private func step(_ statement: OpaquePointer) throws -> Bool {
        let code = sqlite3_step(statement)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw StorageError(sqliteCode: code, file: file)
        }
    }

    private func bind(_ range: KeyRange, to statement: OpaquePointer) {
        bind(range.lower, at: 1, of: statement)
        if let upper = range.upper { bind(upper, at: 2, of: statement) }
    }

    private func bind(_ bytes: [UInt8], at index: Int32, of statement: OpaquePointer) {
        // A null pointer would bind NULL.
        guard !bytes.isEmpty else {
            sqlite3_bind_zeroblob(statement, index, 0)
            return
        }
        // SQLite copies the bytes: the destructor of that meaning is -1 in its header, a macro Swift doesn't see.
        let copied = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        _ = bytes.withUnsafeBytes { sqlite3_bind_blob(statement, index, $0.baseAddress, Int32($0.count), copied) }
    }

    private func blob(_ statement: OpaquePointer, _ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(statement, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }
}

/// The statements of one table, written once so that looking up a compiled one builds no text.
private struct TableSQL {
    let get, put, delete: String
    let scan, scanKeys, count: RangeSQL

    init(_ table: StorageTable) {
        let name = table.sqlName
        get = "SELECT value FROM \(name) WHERE key = ?1"
        put = "INSERT INTO \(name) (key, value) VALUES (?1, ?2) ON CONFLICT (key) DO UPDATE SET value = excluded.value"
        delete = "DELETE FROM \(name) WHERE key = ?1"
        scan = RangeSQL("SELECT key, value FROM \(name)")
        scanKeys = RangeSQL("SELECT key FROM \(name)")
        count = RangeSQL("SELECT count(*) FROM \(name)", isOrdered: false)
    }
}

/// A statement over a range of keys, with and without an upper bound, in both directions.
private struct RangeSQL {
    private let up, down, upOpen, downOpen: String

    init(_ select: String, isOrdered: Bool = true) {
        let open = select + " WHERE key >= ?1"
        let bounded = open + " AND key < ?2"
        let (ascending, descending) = isOrdered ? (" ORDER BY key", " ORDER BY key DESC") : ("", "")
        up = bounded + ascending
        down = bounded + descending
        upOpen = open + ascending
        downOpen = open + descending
    }

    subscript(_ range: KeyRange, _ reverse: Bool) -> String {
        range.upper == nil ? (reverse ? downOpen : upOpen) : (reverse ? down : up)
    }
}
