import StorageEngine
import GRDB
import GRDBSQLite

/// The tables as seen through one connection, with its compiled statements.
///
/// Belongs to its connection: used only inside that connection's queue.
final class SQLiteTables: StorageReader {
    private let database: Database
    private let file: String
    /// Each table's compiled statements that aren't in use at the moment. A nested scan takes another one.
    private var idle = [[Statement]](
        repeating: [], count: StorageTable.allCases.count * SQLiteStatement.kinds)
    /// Compiled statements without parameters.
    private var plain: [String: Statement] = [:]
    /// A longer row is too long for its page.
    private let maxRow: Int
    /// Whether a table may have large values; nil before that was looked up.
    private var mayHaveLarge = [Bool?](repeating: nil, count: StorageTable.allCases.count)

    init(_ database: Database, file: String) throws {
        self.database = database
        self.file = file
        maxRow = LargeValues.maxRow(pageSize: try Int.fetchOne(database, sql: "PRAGMA page_size") ?? 4096)
    }

    func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
        try using(.get, of: table) { statement in
            try binding(key, at: 1, of: statement) {
                try step(statement) ? try value(statement, 0, of: table, at: key) : nil
            }
        }
    }

    func scan(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
    ) throws {
        guard !range.isEmpty else { return }
        try using(.scan(range, reverse: reverse), of: table) { statement in
            try binding(range, to: statement) {
                while try step(statement) {
                    let key = blob(statement, 0)
                    guard try body(key, try value(statement, 1, of: table, at: key)) else { return }
                }
            }
        }
    }

    func scanKeys(
        _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
    ) throws {
        guard !range.isEmpty else { return }
        try using(.keys(range, reverse: reverse), of: table) { statement in
            try binding(range, to: statement) {
                while try step(statement) {
                    guard try body(blob(statement, 0)) else { return }
                }
            }
        }
    }

    func count(_ table: StorageTable, _ range: KeyRange) throws -> Int {
        guard !range.isEmpty else { return 0 }
        return try using(.count(range), of: table) { statement in
            try binding(range, to: statement) {
                try step(statement) ? Int(sqlite3_column_int64(statement, 0)) : 0
            }
        }
    }

    func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]? {
        guard !range.isEmpty else { return nil }
        return try using(.skip(range), of: table) { statement in
            try binding(range, to: statement) {
                sqlite3_bind_int64(statement, 3, Int64(count))
                return try step(statement) ? blob(statement, 0) : nil
            }
        }
    }

    /// - Parameter value: nil deletes the row.
    func store(_ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?) throws {
        let isLarge = table.hasLargeValues ? try storeLarge(table, key, value) : false
        try using(value == nil ? .delete : .put, of: table) { statement in
            bind(key, at: 1, of: statement)
            if isLarge {
                sqlite3_bind_int64(statement, 2, Int64(value?.count ?? 0))
            } else if let value {
                bind(value, at: 2, of: statement)
            }
            _ = try step(statement)
        }
    }

    /// Removes the rows of a range.
    func remove(_ table: StorageTable, _ range: KeyRange) throws {
        guard !range.isEmpty else { return }
        if table.hasLargeValues, try hasLarge(table) { try run(.removeLarge(range), of: table, range) }
        try run(.remove(range), of: table, range)
    }

    private func run(_ kind: SQLiteStatement, of table: StorageTable, _ range: KeyRange) throws {
        try using(kind, of: table) { statement in
            try binding(range, to: statement) { _ = try step(statement) }
        }
    }

    // MARK: Large values

    /// Stores a value apart if it is large, and removes the one that was there otherwise.
    ///
    /// - Returns: whether it is large.
    private func storeLarge(
        _ table: StorageTable, _ key: UnsafeRawBufferPointer, _ value: UnsafeRawBufferPointer?
    ) throws -> Bool {
        if let value, value.count > LargeValues.minBytes, key.count + value.count > maxRow {
            try using(.putLarge, of: table) { statement in
                bind(key, at: 1, of: statement)
                bind(value, at: 2, of: statement)
                _ = try step(statement)
            }
            mayHaveLarge[table.rawValue] = true
            return true
        }
        guard try hasLarge(table) else { return false }
        try using(.deleteLarge, of: table) { statement in
            bind(key, at: 1, of: statement)
            _ = try step(statement)
        }
        return false
    }

    /// Whether the table has large values, or has had some since it was opened: most have none, and needn't be searched.
    private func hasLarge(_ table: StorageTable) throws -> Bool {
        if let known = mayHaveLarge[table.rawValue] { return known }
        guard let large = table.largeName else { return false }
        let has: Bool
        do {
            has = try Bool.fetchOne(database, sql: "SELECT EXISTS (SELECT 1 FROM \(large))") ?? true
        } catch { throw StorageError(error, file: file) }
        mayHaveLarge[table.rawValue] = has
        return has
    }

    /// A row's value.
    private func value(
        _ statement: OpaquePointer, _ column: Int32, of table: StorageTable, at key: [UInt8]
    ) throws -> [UInt8] {
        guard table.hasLargeValues, sqlite3_column_type(statement, column) == SQLITE_INTEGER else {
            return blob(statement, column)
        }
        let large = try using(.getLarge, of: table) { statement in
            try binding(key, at: 1, of: statement) { try step(statement) ? blob(statement, 0) : nil }
        }
        guard let large else {
            throw StorageError(
                .damaged, "the store's file \(file) is damaged: a large value of \(table.sqlName) is missing")
        }
        return large
    }

    // MARK: Statements

    /// Runs a statement without parameters, such as `BEGIN`.
    func run(_ sql: String) throws {
        let statement = try plain[sql] ?? compile(sql)
        plain[sql] = statement
        defer { sqlite3_reset(statement.sqliteStatement) }
        _ = try step(statement.sqliteStatement)
    }

    /// Releases compiled statements; they are compiled again when they are needed.
    func forgetStatements() {
        for index in idle.indices { idle[index] = [] }
        plain = [:]
    }

    private func using<Result>(
        _ kind: SQLiteStatement, of table: StorageTable, _ body: (OpaquePointer) throws -> Result
    ) throws -> Result {
        let index = table.rawValue * SQLiteStatement.kinds + kind.rawValue
        let statement = try idle[index].popLast() ?? compile(kind.sql(of: table))
        defer {
            sqlite3_reset(statement.sqliteStatement)
            idle[index].append(statement)
        }
        return try body(statement.sqliteStatement)
    }

    private func compile(_ sql: String) throws -> Statement {
        do { return try database.makeStatement(sql: sql) } catch { throw StorageError(error, file: file) }
    }

    private func step(_ statement: OpaquePointer) throws -> Bool {
        let code = sqlite3_step(statement)
        switch code {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        default: throw StorageError(sqliteCode: code, file: file)
        }
    }

    private func binding<Result>(
        _ range: KeyRange, to statement: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        try binding(range.lower, at: 1, of: statement) {
            guard let upper = range.upper else { return try body() }
            return try binding(upper, at: 2, of: statement, body)
        }
    }

    /// The statement may be stepped in the body only: SQLite reads the bytes in place and makes no copy.
    private func binding<Result>(
        _ bytes: [UInt8], at index: Int32, of statement: OpaquePointer, _ body: () throws -> Result
    ) throws -> Result {
        try bytes.withUnsafeBytes { bytes in
            bind(bytes, at: index, of: statement)
            return try body()
        }
    }

    private func bind(_ bytes: UnsafeRawBufferPointer, at index: Int32, of statement: OpaquePointer) {
        if let start = bytes.baseAddress, !bytes.isEmpty {
            sqlite3_bind_blob(statement, index, start, Int32(bytes.count), nil)
        } else {
            // A null pointer would bind NULL.
            sqlite3_bind_zeroblob(statement, index, 0)
        }
    }

    private func blob(_ statement: OpaquePointer, _ column: Int32) -> [UInt8] {
        guard let start = sqlite3_column_blob(statement, column) else { return [] }
        return Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(statement, column))))
    }
}
