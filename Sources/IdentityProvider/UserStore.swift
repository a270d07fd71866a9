import HostProcess
import TextFormats
import Crypto
import Foundation
import GRDB

/// The users of local sign-in, in `users.sqlite`.
///
/// What a method has returned is on disk: an acknowledged sign-up survives a kill and a power cut.
package final class UserStore: Sendable {
    let pool: DatabasePool

    /// Opens the database and brings its schema up to date.
    ///
    /// - Throws: a sentence where the file is damaged or can't be used.
    /// - Parameter directory: Usually `<data>/auth`; made, for its owner alone, where it isn't there.
    package init(directory: String) throws {
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        var configuration = Configuration()
        configuration.busyMode = .timeout(5)
        configuration.maximumReaderCount = 2
        let file = directory + "/users.sqlite"
        do {
            pool = try Self.open(file, configuration)
        } catch let error as DatabaseError {
            throw HostError(
                "the file of the users, \(file), can't be used: \(error.message ?? "SQLite refuses it"). Restore it from "
                    + "a backup, or move it away to start without users")
        }
    }

    private static func open(_ file: String, _ configuration: Configuration) throws -> DatabasePool {
        let pool = try DatabasePool(path: file, configuration: configuration)
        // After the pool is open: opening sets NORMAL, with which a power cut takes the last commits along.
        try pool.writeWithoutTransaction { try $0.execute(sql: "PRAGMA synchronous = FULL; PRAGMA fullfsync = ON") }
        try migrator.migrate(pool)
        return pool
    }

    /// Lets go of the file once running work has ended; the store is of no use after this.
    package func close() throws { try pool.close() }

    /// Makes a user without credentials and a refresh token for it.
    ///
    /// - Parameter now: Seconds since 1970.
    func signUpAnonymously(now: Int64) async throws -> (user: UserRecord, refreshToken: String) {
        let user = UserRecord(
            localId: Self.randomID(), createdAt: now * 1000, lastLoginAt: now * 1000, lastRefreshAt: now * 1000,
            disabled: false)
        // The uid in front tells a deleted user's token from a made-up one.
        let token = user.localId + "." + Base64URL.encode(Self.randomBytes(32))
        let record = RefreshTokenRecord(hash: Self.hash(token), localId: user.localId, signedInAt: now)
        try await pool.write { database in
            try user.insert(database)
            try record.insert(database)
        }
        return (user, token)
    }

    func user(_ localID: String) async throws -> UserRecord? {
        try await pool.read { try UserRecord.fetchOne($0, key: localID) }
    }

    enum Refresh: Hashable, Sendable {
        case user(UserRecord, signedInAt: Int64)
        case unknownToken
        case deletedUser
        case disabledUser
    }

    /// Notes that a refresh token was used, and tells whose it is.
    ///
    /// - Parameter now: Seconds since 1970.
    func refresh(_ token: String, now: Int64) async throws -> Refresh {
        guard let localID = token.split(separator: ".").first.map(String.init) else { return .unknownToken }
        let hash = Self.hash(token)
        return try await pool.write { database in
            guard var user = try UserRecord.fetchOne(database, key: localID) else { return .deletedUser }
            guard let record = try RefreshTokenRecord.fetchOne(database, key: hash) else { return .unknownToken }
            guard !user.disabled else { return .disabledUser }
            user.lastRefreshAt = now * 1000
            try user.update(database)
            return .user(user, signedInAt: record.signedInAt)
        }
    }

    /// Bars a user from signing in, refreshing and being looked up with a token, or lets it again.
    ///
    /// - Returns: false where there is no such user.
    func setDisabled(_ disabled: Bool, _ localID: String) async throws -> Bool {
        try await pool.write { database in
            guard var user = try UserRecord.fetchOne(database, key: localID) else { return false }
            user.disabled = disabled
            try user.update(database)
            return true
        }
    }

    /// Deletes a user and what belongs to it.
    ///
    /// - Returns: false where there was none.
    func delete(_ localID: String) async throws -> Bool {
        try await pool.write { try UserRecord.deleteOne($0, key: localID) }
    }

    func deleteAll() async throws {
        _ = try await pool.write { try UserRecord.deleteAll($0) }
    }

    private static func hash(_ token: String) -> Data { Data(SHA256.hash(data: Data(token.utf8))) }

    private static func randomBytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in generator.next() }
    }

    /// 28 letters and digits, as Firebase's uids are: 166 random bits.
    private static func randomID() -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<28).compactMap { _ in alphabet.randomElement() })
    }
}
