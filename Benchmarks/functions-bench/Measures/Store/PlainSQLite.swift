import StorageEngine
import DocumentStore
import Foundation
import GRDB
import GRDBSQLite

/// Replays the rows of recorded commits straight on SQLite: one connection, one thread, compiled statements, WAL with a
/// sync at each commit, and nothing else.
///
/// It never waits for writers: the next commits are always available.
struct PlainSQLite {
    private let queue: DatabaseQueue

    init(file: URL) throws {
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(
                sql: """
                    PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384;
                    PRAGMA wal_autocheckpoint = 4000
                    """)
        }
        queue = try DatabaseQueue(path: file.path, configuration: configuration)
        try queue.write { database in
            for table in StorageTable.allCases {
                try database.execute(
                    sql: "CREATE TABLE t\(table.rawValue) (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID")
            }
        }
    }

    /// Replays the commits, with `width` of them in each transaction.
    ///
    /// - Returns: the measurement, in which each commit takes as long as its transaction.
    func replay(_ commits: ArraySlice<CommitRecord>, width: Int) throws -> LoadReport {
        try queue.writeWithoutTransaction { database in
            let tables = try StorageTable.allCases.map { try Statements($0, database) }
            var report = LoadReport()
            let (start, cpu) = (ContinuousClock.now, OwnProcess.cpuSeconds())
            for first in stride(from: commits.startIndex, to: commits.endIndex, by: width) {
                let begin = ContinuousClock.now
                let group = commits[first..<min(first + width, commits.endIndex)]
                try database.execute(sql: "BEGIN IMMEDIATE")
                for commit in group {
                    for operation in commit.operations { try Self.run(operation, on: tables) }
                }
                try database.execute(sql: "COMMIT")
                let latency = ContinuousClock.now - begin
                for _ in group { report.add(latency: latency) }
            }
            report.elapsed = (ContinuousClock.now - start).seconds
            report.cpu = OwnProcess.cpuSeconds() - cpu
            return report
        }
    }

    private struct Statements {
        let get, put, delete: Statement

        init(_ table: StorageTable, _ database: Database) throws {
            let name = "t\(table.rawValue)"
            get = try database.makeStatement(sql: "SELECT value FROM \(name) WHERE key = ?")
            put = try database.makeStatement(sql: "INSERT OR REPLACE INTO \(name) VALUES (?, ?)")
            delete = try database.makeStatement(sql: "DELETE FROM \(name) WHERE key = ?")
        }
    }

    private static func run(_ operation: CommitRecord.Operation, on tables: [Statements]) throws {
        switch operation {
        case .get(let table, let key): try run(tables[table.rawValue].get, key)
        case .put(let table, let key, let value): try run(tables[table.rawValue].put, key, value)
        case .delete(let table, let key): try run(tables[table.rawValue].delete, key)
        }
    }

    private static func run(_ statement: Statement, _ key: [UInt8], _ value: [UInt8]? = nil) throws {
        let statement = statement.sqliteStatement
        defer { sqlite3_reset(statement) }
        let code = key.withUnsafeBytes { key in
            sqlite3_bind_blob(statement, 1, key.baseAddress, Int32(key.count), nil)
            guard let value, !value.isEmpty else {
                if value != nil { sqlite3_bind_zeroblob(statement, 2, 0) }
                return sqlite3_step(statement)
            }
            return value.withUnsafeBytes { value in
                sqlite3_bind_blob(statement, 2, value.baseAddress, Int32(value.count), nil)
                return sqlite3_step(statement)
            }
        }
        guard code == SQLITE_DONE || code == SQLITE_ROW else { throw LoadError("SQLite answered \(code)") }
    }
}
