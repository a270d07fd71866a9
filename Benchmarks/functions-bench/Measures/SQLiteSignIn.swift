import Foundation
import GRDB

/// What sign-in stores and reads, straight on SQLite: an upper bound for any identity provider on top of it.
///
/// One process, one connection, WAL with a sync at each commit, as many sign-ups in a commit as there are clients, users as
/// JSON by their ids, and nothing else: no index, no event, no token, no network.
struct SQLiteSignIn: Sendable {
    private static let user = """
        {"createdAt":1800000000123,"lastLoginAt":1800000000123,"validSince":1800000000,"provider":"anonymous"}
        """

    private let queue: DatabaseQueue
    private let clients: Int

    init(file: URL, clients: Int) throws {
        self.clients = clients
        var configuration = Configuration()
        configuration.prepareDatabase { database in
            try database.execute(
                sql: "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; PRAGMA cache_size = -16384")
        }
        queue = try DatabaseQueue(path: file.path, configuration: configuration)
        try queue.write { database in
            for table in ["users", "sessions"] {
                try database.execute(sql: "CREATE TABLE \(table) (id BLOB PRIMARY KEY, json BLOB) WITHOUT ROWID")
            }
        }
    }

    /// Stores a user and a session for each client, in one commit, for a time.
    func signUp(for duration: Duration) throws -> LoadReport {
        try measure(for: duration) {
            try queue.write { database in
                for _ in 0..<clients {
                    for table in ["users", "sessions"] {
                        try database.cachedStatement(sql: "INSERT INTO \(table) VALUES (?, ?)")
                            .execute(arguments: [UUID().uuidString, Data(Self.user.utf8)])
                    }
                }
            }
        }
    }

    /// Reads a session and its user for each client, for a time.
    func refresh(for duration: Duration) throws -> LoadReport { try read(["sessions", "users"], for: duration) }

    /// Reads a user for each client, for a time.
    func lookUp(for duration: Duration) throws -> LoadReport { try read(["users"], for: duration) }

    private func read(_ tables: [String], for duration: Duration) throws -> LoadReport {
        let ids = try queue.read { try String.fetchAll($0, sql: "SELECT id FROM users LIMIT 1000") }
        var next = 0
        return try measure(for: duration) {
            for _ in 0..<clients {
                next += 1
                try queue.read { database in
                    for table in tables {
                        let statement = try database.cachedStatement(sql: "SELECT json FROM \(table) WHERE id = ?")
                        _ = try Data.fetchOne(statement, arguments: [ids[next % ids.count]])
                    }
                }
            }
        }
    }

    /// - Parameter body: an operation of each client.
    private func measure(for duration: Duration, _ body: () throws -> Void) throws -> LoadReport {
        var report = LoadReport()
        let start = ContinuousClock.now
        let cpu = OwnProcess.cpuSeconds()
        while ContinuousClock.now < start + duration {
            let begin = ContinuousClock.now
            try body()
            let latency = ContinuousClock.now - begin
            for _ in 0..<clients { report.add(latency: latency) }
        }
        report.elapsed = (ContinuousClock.now - start).seconds
        report.cpu = OwnProcess.cpuSeconds() - cpu
        return report
    }
}
