import DocumentModel
import Foundation
import HostProcess
import Logging
import SQLiteStorage
import StorageEngine
package import UserStore

/// `auth/users.sqlite`: where earlier versions kept their users, who were all anonymous.
package struct EarlierUsersFile: Sendable {
    private let path: String

    /// - Parameter directory: Usually `<data>/auth`.
    package init(in directory: String) { path = directory + "/users.sqlite" }

    /// Moves the users to the store, if there are any.
    ///
    /// - Throws: a sentence for the operator if the file can't be used.
    func takeOver(by store: UserStore, _ logger: Logger) async throws {
        do {
            guard let count = try await move(to: store) else { return }
            logger.notice("users of an earlier version moved to the store", metadata: ["users": "\(count)"])
        } catch let error as StorageError {
            throw HostError(
                "the users' file auth/users.sqlite of an earlier version can't be used: \(error.message). Restore it from "
                    + "a backup, or move it away to start without its users")
        }
    }

    /// Moves the users and their refresh tokens to the store, then the file away, so that this happens once. If the
    /// process dies meanwhile, the next one goes on.
    ///
    /// - Returns: how many users there were; nil if there is no such file.
    /// - Throws: `StorageError` if the file is damaged, `DocumentError` if the store can't commit. The file stays.
    package func move(to store: UserStore) async throws -> Int? {
        guard FileManager.default.fileExists(atPath: path) else { return nil }
        let file = try SQLiteFile(path, migrations: Self.migrations)
        var (count, last) = (0, "")
        while true {
            let (users, tokens) = try await page(of: file, after: last)
            guard let lastUser = users.last else { break }
            try await store.commit(in: OperationContext(firesEvents: false)) { transaction in
                for user in users where try transaction.user(user.uid) == nil { try transaction.insert(user) }
                for (hash, token) in tokens { try transaction.insert(token, hash: hash) }
            }
            count += users.count
            last = lastUser.uid
        }
        try file.close()
        for suffix in ["", "-wal", "-shm"] where FileManager.default.fileExists(atPath: path + suffix) {
            try? FileManager.default.removeItem(atPath: path + ".moved" + suffix)
            try FileManager.default.moveItem(atPath: path + suffix, toPath: path + ".moved" + suffix)
        }
        return count
    }

    /// The next users in the order of their ids, with their tokens.
    private func page(
        of file: SQLiteFile, after last: String
    ) async throws -> (users: [UserRecord], tokens: [(hash: [UInt8], token: RefreshToken)]) {
        try await file.read { connection in
            let rows = try connection.rows(
                """
                SELECT localId, createdAt, lastLoginAt, lastRefreshAt, disabled FROM users WHERE localId > ?
                ORDER BY localId LIMIT 500
                """, .text(last))
            var tokens: [(hash: [UInt8], token: RefreshToken)] = []
            let users = try rows.map { row in
                guard let uid = row[0].text, let createdAt = row[1].integer, let signedIn = row[2].integer,
                    let refreshed = row[3].integer
                else { throw StorageError(.damaged, "a user in it has columns of a wrong type") }
                var user = UserRecord(uid: uid, createdAt: createdAt)
                user.lastSignInAt = signedIn
                user.lastRefreshAt = refreshed
                user.isDisabled = row[4] != .integer(0)
                for token in try connection.rows(
                    "SELECT hash, signedInAt FROM refreshTokens WHERE localId = ?", .text(uid))
                {
                    guard case .blob(let hash) = token[0], let signedInAt = token[1].integer else { continue }
                    let session = SignInSession(uid: uid, provider: "anonymous", signedInAt: signedInAt)
                    tokens.append(
                        (hash, RefreshToken(session: session, issuedAt: signedInAt, family: hash, origin: [])))
                }
                return user
            }
            return (users, tokens)
        }
    }

    /// The schema's migrations, as they were released.
    static let migrations = [
        SQLiteFile.Migration(
            "users and refresh tokens",
            sql: """
                CREATE TABLE users (
                    localId TEXT NOT NULL PRIMARY KEY,
                    createdAt INTEGER NOT NULL,
                    lastLoginAt INTEGER NOT NULL,
                    lastRefreshAt INTEGER NOT NULL,
                    disabled INTEGER NOT NULL DEFAULT 0
                ) WITHOUT ROWID;
                CREATE TABLE refreshTokens (
                    hash BLOB NOT NULL PRIMARY KEY,
                    localId TEXT NOT NULL REFERENCES users(localId) ON DELETE CASCADE,
                    signedInAt INTEGER NOT NULL
                ) WITHOUT ROWID;
                CREATE INDEX refreshTokensOfUser ON refreshTokens(localId);
                """)
    ]
}
