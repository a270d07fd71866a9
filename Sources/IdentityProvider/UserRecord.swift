import SQLiteStorage

/// A stored user of local sign-in.
struct UserRecord: Hashable, Sendable {
    /// The uid: 28 letters and digits.
    package var localId: String
    /// Milliseconds since 1970, as are the next two.
    package var createdAt: Int64
    package var lastLoginAt: Int64
    package var lastRefreshAt: Int64
    package var disabled: Bool
}

extension UserRecord {
    static func find(_ localID: String, in connection: SQLiteConnection) throws -> Self? {
        let rows = try connection.rows(
            "SELECT localId, createdAt, lastLoginAt, lastRefreshAt, disabled FROM users WHERE localId = ?",
            .text(localID))
        guard let row = rows.first, let localID = row[0].text, let createdAt = row[1].integer,
            let lastLoginAt = row[2].integer, let lastRefreshAt = row[3].integer
        else { return nil }
        return UserRecord(
            localId: localID, createdAt: createdAt, lastLoginAt: lastLoginAt, lastRefreshAt: lastRefreshAt,
            disabled: row[4] != .integer(0))
    }

    func insert(into connection: SQLiteConnection) throws {
        try connection.execute(
            "INSERT INTO users (localId, createdAt, lastLoginAt, lastRefreshAt, disabled) VALUES (?, ?, ?, ?, ?)",
            .text(localId), .integer(createdAt), .integer(lastLoginAt), .integer(lastRefreshAt),
            .integer(disabled ? 1 : 0))
    }
}

/// A stored refresh token. Only a hash of the token itself is stored.
struct RefreshTokenRecord: Hashable, Sendable {
    /// SHA-256 of the token's text.
    var hash: [UInt8]
    var localId: String
    /// When the user signed in, in seconds since 1970: the `auth_time` of all ID tokens issued for this refresh token.
    var signedInAt: Int64
}

extension RefreshTokenRecord {
    static func find(_ hash: [UInt8], in connection: SQLiteConnection) throws -> Self? {
        let rows = try connection.rows("SELECT localId, signedInAt FROM refreshTokens WHERE hash = ?", .blob(hash))
        guard let row = rows.first, let localID = row[0].text, let signedInAt = row[1].integer else { return nil }
        return RefreshTokenRecord(hash: hash, localId: localID, signedInAt: signedInAt)
    }

    func insert(into connection: SQLiteConnection) throws {
        try connection.execute(
            "INSERT INTO refreshTokens (hash, localId, signedInAt) VALUES (?, ?, ?)", .blob(hash), .text(localId),
            .integer(signedInAt))
    }
}
