import Foundation
import GRDB

/// A user of local sign-in, as stored.
struct UserRecord: Codable, Hashable, Sendable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "users"

    /// The uid: 28 letters and digits.
    package var localId: String
    /// Milliseconds since 1970, as the two below.
    package var createdAt: Int64
    package var lastLoginAt: Int64
    package var lastRefreshAt: Int64
    package var disabled: Bool
}

/// What a refresh token stands for. Of the token itself only a hash is kept.
struct RefreshTokenRecord: Codable, Hashable, Sendable, FetchableRecord, PersistableRecord {
    static let databaseTableName = "refreshTokens"

    /// SHA-256 of the token's text.
    var hash: Data
    var localId: String
    /// When the user signed in, seconds since 1970: `auth_time` of all tokens that come of it.
    var signedInAt: Int64
}
