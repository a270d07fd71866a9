import SQLiteStorage

extension UserStore {
    /// The schema's migrations. Append only: a released migration never changes.
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
