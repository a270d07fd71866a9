import HostProcess
import TextFormats
import Crypto
import Foundation
import SQLiteStorage
import StorageEngine

/// The users of local sign-in, in `users.sqlite`.
///
/// A method returns once its change is on disk: an acknowledged sign-up survives a kill and a power failure.
package final class UserStore: Sendable {
    let file: SQLiteFile

    /// Opens the database and migrates its schema.
    ///
    /// - Throws: an error for the operator if the file is damaged or can't be used.
    /// - Parameter directory: Usually `<data>/auth`; created for its owner alone if it doesn't exist.
    package init(directory: String) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        let path = directory + "/users.sqlite"
        do {
            file = try SQLiteFile(path, migrations: Self.migrations)
        } catch let error as StorageError {
            throw HostError(
                "the users' file \(path) can't be used: \(error.message). Restore it from a backup, or move it away to "
                    + "start without users")
        }
    }

    /// Closes the file once running operations have ended. The store can't be used afterwards.
    package func close() throws { try file.close() }

    /// Creates a user without credentials, and a refresh token for it.
    ///
    /// - Parameter now: Seconds since 1970.
    func signUpAnonymously(now: Int64) async throws -> (user: UserRecord, refreshToken: String) {
        let user = UserRecord(
            localId: Self.randomID(), createdAt: now * 1000, lastLoginAt: now * 1000, lastRefreshAt: now * 1000,
            disabled: false)
        // The uid in the token distinguishes the tokens of deleted users from made-up ones.
        let token = user.localId + "." + Base64URL.encode(Self.randomBytes(32))
        let record = RefreshTokenRecord(hash: Self.hash(token), localId: user.localId, signedInAt: now)
        try await file.write { connection in
            try user.insert(into: connection)
            try record.insert(into: connection)
        }
        return (user, token)
    }

    func user(_ localID: String) async throws -> UserRecord? {
        try await file.read { try UserRecord.find(localID, in: $0) }
    }

    enum Refresh: Hashable, Sendable {
        case user(UserRecord, signedInAt: Int64)
        case unknownToken
        case deletedUser
        case disabledUser
    }

    /// Records the use of a refresh token, and returns its user.
    ///
    /// - Parameter now: Seconds since 1970.
    func refresh(_ token: String, now: Int64) async throws -> Refresh {
        guard let localID = token.split(separator: ".").first.map(String.init) else { return .unknownToken }
        let hash = Self.hash(token)
        return try await file.write { connection in
            guard var user = try UserRecord.find(localID, in: connection) else { return .deletedUser }
            guard let record = try RefreshTokenRecord.find(hash, in: connection) else { return .unknownToken }
            guard !user.disabled else { return .disabledUser }
            user.lastRefreshAt = now * 1000
            try connection.execute(
                "UPDATE users SET lastRefreshAt = ? WHERE localId = ?", .integer(user.lastRefreshAt), .text(localID))
            return .user(user, signedInAt: record.signedInAt)
        }
    }

    /// Disables or enables a user. A disabled user can't sign in, refresh a token or be looked up with one.
    ///
    /// - Returns: false if there is no such user.
    func setDisabled(_ disabled: Bool, _ localID: String) async throws -> Bool {
        try await file.write { connection in
            try connection.execute(
                "UPDATE users SET disabled = ? WHERE localId = ?", .integer(disabled ? 1 : 0), .text(localID)) > 0
        }
    }

    /// Deletes a user and its refresh tokens.
    ///
    /// - Returns: false if there is no such user.
    func delete(_ localID: String) async throws -> Bool {
        try await file.write { try $0.execute("DELETE FROM users WHERE localId = ?", .text(localID)) > 0 }
    }

    func deleteAll() async throws {
        try await file.write { _ = try $0.execute("DELETE FROM users") }
    }

    private static func hash(_ token: String) -> [UInt8] { Array(SHA256.hash(data: Data(token.utf8))) }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in generator.next() }
    }

    /// Returns 28 letters and digits, as Firebase's uids have: 166 random bits.
    private static func randomID() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<28).compactMap { _ in alphabet.randomElement() })
    }
}
