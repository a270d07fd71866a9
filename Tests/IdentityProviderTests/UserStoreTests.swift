import TestSupport
@testable import IdentityProvider
import Crypto
import Foundation
import SQLiteStorage
import Testing

@Suite struct UserStoreTests {
    @Test func commitsAreSynced() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let store = try UserStore(directory: directory.path)
        let level = try await store.file.write { try $0.rows("PRAGMA synchronous") }
        // FULL
        #expect(level == [[.integer(2)]])
    }

    /// A file as the first version made it, which noted its migration under this name.
    @Test func aFileOfTheFirstVersionKeepsItsUsers() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let (token, uid) = ("uid.secret", "uid")
        let old = try SQLiteFile(directory.path + "/users.sqlite", migrations: [])
        try await old.write { connection in
            try connection.execute(
                """
                CREATE TABLE grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY);
                INSERT INTO grdb_migrations VALUES ('users and refresh tokens');
                CREATE TABLE users (
                    localId TEXT NOT NULL PRIMARY KEY, createdAt INTEGER NOT NULL, lastLoginAt INTEGER NOT NULL,
                    lastRefreshAt INTEGER NOT NULL, disabled INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID;
                CREATE TABLE refreshTokens (
                    hash BLOB NOT NULL PRIMARY KEY, localId TEXT NOT NULL REFERENCES users(localId) ON DELETE CASCADE,
                    signedInAt INTEGER NOT NULL) WITHOUT ROWID;
                CREATE INDEX refreshTokensOfUser ON refreshTokens(localId);
                INSERT INTO users VALUES ('uid', 1000, 2000, 3000, 0);
                """)
            try connection.execute(
                "INSERT INTO refreshTokens VALUES (?, 'uid', 1)", .blob(Array(SHA256.hash(data: Data(token.utf8)))))
        }
        try old.close()

        let store = try UserStore(directory: directory.path)
        let user = UserRecord(
            localId: uid, createdAt: 1000, lastLoginAt: 2000, lastRefreshAt: 3000, disabled: false)
        #expect(try await store.user(uid) == user)
        var refreshed = user
        refreshed.lastRefreshAt = 9000
        #expect(try await store.refresh(token, now: 9) == .user(refreshed, signedInAt: 1))
        #expect(try await store.user(uid) == refreshed)
        #expect(try await store.setDisabled(true, uid))
        #expect(try await store.refresh(token, now: 10) == .disabledUser)
        // Its tokens go with it.
        #expect(try await store.delete(uid))
        #expect(try await store.file.read { try $0.rows("SELECT count(*) FROM refreshTokens") } == [[.integer(0)]])
        try store.close()
    }
}
