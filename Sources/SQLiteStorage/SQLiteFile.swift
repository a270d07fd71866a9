import Foundation
import GRDB
import StorageEngine

/// A separate SQLite database for data that is queried with SQL.
///
/// WAL with a sync at each commit: what ``write(_:)`` has returned survives a kill and a power cut.
package final class SQLiteFile: Sendable {
    /// One step of a schema's history. Append-only: a migration that was released never changes.
    package struct Migration: Sendable {
        /// The name under which the table `grdb_migrations` records that the migration has run.
        let name: String
        let sql: String

        package init(_ name: String, sql: String) {
            self.name = name
            self.sql = sql
        }
    }

    private let pool: DatabasePool

    /// Opens the file, creates it if it is missing, and runs the migrations that are still missing.
    ///
    /// - Throws: `StorageError` with SQLite's reason if the file is damaged or can't be used.
    package init(_ path: String, migrations: [Migration]) throws {
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 2
        var migrator = DatabaseMigrator()
        for migration in migrations {
            migrator.registerMigration(migration.name) { try $0.execute(sql: migration.sql) }
        }
        try StoreFile.keepPrivate(path)
        do {
            pool = try DatabasePool(path: path, configuration: configuration)
            // Opening the pool sets NORMAL, with which a power cut loses the last commits.
            try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON") }
            try migrator.migrate(pool)
        } catch let error as DatabaseError {
            throw StorageError(reasonOf: error)
        }
    }

    /// Closes the file once running work has ended.
    package func close() throws { try pool.close() }

    /// Runs the body alone in a transaction, and returns once its changes are durable.
    ///
    /// - Throws: `StorageError`, or what the body throws; nothing is kept then.
    package func write<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
    ) async throws -> Result {
        do { return try await pool.write { try body(SQLiteConnection(database: $0)) } } catch let error as DatabaseError
        {
            throw StorageError(reasonOf: error)
        }
    }

    /// Runs the body on one snapshot, beside writes.
    ///
    /// - Throws: `StorageError`, or what the body throws.
    package func read<Result: Sendable>(
        _ body: @escaping @Sendable (SQLiteConnection) throws -> Result
    ) async throws -> Result {
        do { return try await pool.read { try body(SQLiteConnection(database: $0)) } } catch let error as DatabaseError
        {
            throw StorageError(reasonOf: error)
        }
    }
}

/// A connection to a ``SQLiteFile``, inside one of its transactions.
package struct SQLiteConnection {
    let database: Database

    /// Runs a statement.
    ///
    /// - Returns: the number of rows it inserted, changed or deleted, without those that a cascade deleted.
    @discardableResult
    package func execute(_ sql: String, _ arguments: SQLiteValue...) throws -> Int {
        try database.execute(sql: sql, arguments: StatementArguments(arguments.map(\.databaseValue)))
        return database.changesCount
    }

    /// The rows that a query returns, each with its columns in order.
    package func rows(_ sql: String, _ arguments: SQLiteValue...) throws -> [[SQLiteValue]] {
        let arguments = StatementArguments(arguments.map(\.databaseValue))
        return try Row.fetchAll(database, sql: sql, arguments: arguments).map { row in
            row.databaseValues.map(SQLiteValue.init)
        }
    }
}

/// A value in a row.
package enum SQLiteValue: Hashable, Sendable {
    case null
    case integer(Int64)
    case real(Double)
    case text(String)
    case blob([UInt8])

    package var integer: Int64? { if case .integer(let number) = self { number } else { nil } }
    package var text: String? { if case .text(let text) = self { text } else { nil } }

    init(_ value: DatabaseValue) {
        self =
            switch value.storage {
            case .null: .null
            case .int64(let number): .integer(number)
            case .double(let number): .real(number)
            case .string(let text): .text(text)
            case .blob(let bytes): .blob([UInt8](bytes))
            }
    }

    var databaseValue: DatabaseValue {
        switch self {
        case .null: .null
        case .integer(let number): number.databaseValue
        case .real(let number): number.databaseValue
        case .text(let text): text.databaseValue
        case .blob(let bytes): Data(bytes).databaseValue
        }
    }
}
