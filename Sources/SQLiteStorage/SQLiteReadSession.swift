import StorageEngine
import GRDB

/// One reading connection.
final class SQLiteReadSession: ReadSession {
    private let queue: DatabaseQueue
    private let tables: SQLiteTables

    init(file: String, configuration: Configuration) throws {
        queue = try DatabaseQueue(path: file, configuration: configuration)
        tables = try queue.writeWithoutTransaction { try SQLiteTables($0, file: file) }
    }

    // A connection with compiled statements can't be closed.
    deinit { queue.writeWithoutTransaction { _ in tables.forgetStatements() } }

    func read<Result>(_ body: (any StorageReader) throws -> Result) throws -> Result {
        try queue.writeWithoutTransaction { database in
            try tables.run("BEGIN")
            defer {
                // Nothing was changed, so a failed COMMIT loses nothing; the next read would report the problem.
                if database.isInsideTransaction { try? tables.run("COMMIT") }
            }
            return try body(tables)
        }
    }
}
