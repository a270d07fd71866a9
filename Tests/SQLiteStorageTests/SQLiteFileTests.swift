import Foundation
import SQLiteStorage
import StorageEngine
import TestSupport
import Testing

struct SQLiteFileTests {
    private let directory: TemporaryDirectory
    private let path: String
    private let first = SQLiteFile.Migration("first", sql: "CREATE TABLE t (a INTEGER PRIMARY KEY, b, c, d, e)")
    private let second = SQLiteFile.Migration("second", sql: "INSERT INTO t (a) VALUES (7)")

    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("data.sqlite")
    }

    @Test func migrationsRunOnceInOrder() async throws {
        for migrations in [[first], [first, second], [first, second]] {
            try SQLiteFile(path, migrations: migrations).close()
        }
        let file = try SQLiteFile(path, migrations: [first, second])
        #expect(try await file.read { try $0.rows("SELECT a FROM t") } == [[.integer(7)]])
        let names = try await file.read { try $0.rows("SELECT identifier FROM grdb_migrations ORDER BY rowid") }
        #expect(names == [[.text("first")], [.text("second")]])
        try file.close()
    }

    private func permissions(_ path: String) throws -> Int? {
        try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int
    }

    @Test func onlyItsOwnerMayReadIt() async throws {
        // One from before this was so.
        #expect(FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o644]))
        let file = try SQLiteFile(path, migrations: [first])
        for suffix in ["", "-wal", "-shm"] { #expect(try permissions(path + suffix) == 0o600) }
        try file.close()
        let other = directory.file("documents.sqlite")
        for _ in 0..<2 {
            let engine = try SQLiteEngine(file: other)
            try engine.write { try $0.put(.meta, [1], [2]) }
            for suffix in ["", "-wal", "-shm"] { #expect(try permissions(other + suffix) == 0o600) }
            try engine.close()
            try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: other)
        }
    }

    @Test func valuesOfEveryKindComeBack() async throws {
        let file = try SQLiteFile(path, migrations: [first])
        try await file.write { connection in
            let changed = try connection.execute(
                "INSERT INTO t VALUES (?, ?, ?, ?, ?)", .integer(1), .real(0.5), .text("é"), .blob([0, 255]), .null)
            #expect(changed == 1)
        }
        let rows = try await file.read { try $0.rows("SELECT * FROM t WHERE c = ?", .text("é")) }
        #expect(rows == [[.integer(1), .real(0.5), .text("é"), .blob([0, 255]), .null]])
        try file.close()
    }

    @Test func aBodyThatThrowsLeavesNothing() async throws {
        struct Refused: Error {}
        let file = try SQLiteFile(path, migrations: [first])
        await #expect(throws: Refused.self) {
            try await file.write { connection in
                try connection.execute("INSERT INTO t (a) VALUES (1)")
                throw Refused()
            }
        }
        await #expect(throws: StorageError.self) {
            try await file.write { _ = try $0.execute("INSERT INTO nowhere VALUES (1)") }
        }
        #expect(try await file.read { try $0.rows("SELECT count(*) FROM t") } == [[.integer(0)]])
        try file.close()
    }

    @Test func aDamagedFileIsRefusedWithSQLitesReason() throws {
        try Data(repeating: 65, count: 8192).write(to: URL(fileURLWithPath: path))
        let error = #expect(throws: StorageError.self) { try SQLiteFile(path, migrations: [first]) }
        #expect(error?.kind == .damaged)
        #expect(error?.message.contains("not a database") == true)
    }
}
