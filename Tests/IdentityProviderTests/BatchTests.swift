import CommitPipeline
import DocumentModel
import HostTesting
import StorageEngine
import StrictJSON
import Testing

@testable import IdentityProvider
@testable import UserStore

/// What admins do with many users in one request.
@Suite struct BatchTests {
    private static let count = 3 * IdentityToolkit.changedAtOnce

    private struct VersionRead: SnapshotJob {
        let completion: @Sendable (Int64) -> Void

        func run(on snapshot: Snapshot) { completion(snapshot.version) }
        func fail(_ error: DocumentError) { completion(.min) }
    }

    /// The version of what is stored. The clock of these tests stands still, so that each commit has the next one.
    private func version(_ host: SignInHost) async -> Int64 {
        await withCheckedContinuation { continuation in
            host.pipeline.read(VersionRead { continuation.resume(returning: $0) })
        }
    }

    private func names(_ count: Int) -> String {
        "[" + (0..<count).map { #""u\#($0)""# }.joined(separator: ",") + "]"
    }

    private func insert(_ count: Int, in users: UserStore) async throws {
        try await users.commit { transaction in
            for n in 0..<count {
                var user = UserRecord(uid: "u\(n)", createdAt: 0)
                user.isDisabled = n != count - 1
                try transaction.insert(user)
            }
        }
    }

    /// Otherwise a list would end where one can't be read.
    @Test func usersAreListedBesideOneWhoCannotBeRead() async throws {
        let log = LogLines()
        try await SignInHost.serving(logger: log.logger) { host in
            try await insert(4, in: host.users)
            try host.pipeline.engine.write { try $0.put(.users, UserKeys.user("u1"), [255]) }
            #expect(try await host.toolkit.listed(after: nil, limit: 2).map(\.uid) == ["u0", "u2"])
            let found = try await host.admin("query", "{}").body["userInfo"]?.elements() ?? []
            #expect(try found.map { try $0["localId"]?.string() } == ["u0", "u2", "u3"])
        }
        let line = "a user can't be read and is left out of a list; see \"functions-host data check\" uid=u1"
        #expect(log.all.filter { $0 == line }.count == 2)
    }

    /// The first page again would seem to be the next one, without an end.
    @Test(arguments: [#"{"offset":"2"}"#, #"{"offset":2}"#, #"{"sortBy":"CREATED_AT"}"#, #"{"order":"DESC"}"#])
    func queriesThatCannotBeAnsweredAreRefused(json: String) async throws {
        try await SignInHost.serving { host in
            try await insert(4, in: host.users)
            let answer = try await host.admin("query", json)
            #expect(answer.status == 400)
            #expect(answer.body.errorMessage?.hasPrefix("INVALID_ARGUMENT : Queries are answered from") == true)
            let plain = try await host.admin(
                "query", #"{"returnUserInfo":true,"limit":"3","offset":"0","sortBy":"USER_ID","order":"ASC"}"#)
            let found = try plain.body["userInfo"]?.elements() ?? []
            #expect(try found.map { try $0["localId"]?.string() } == ["u0", "u1", "u2"])
        }
    }

    /// In one commit, all others would wait until all users are deleted.
    @Test func manyUsersAreDeletedInSeveralCommits() async throws {
        try await SignInHost.serving { host in
            try await insert(Self.count, in: host.users)
            let before = await version(host)
            let answer = try await host.admin("batchDelete", #"{"localIds":\#(names(Self.count + 1))}"#)
            #expect(await version(host) - before >= 3)
            let errors = try answer.body["errors"]?.elements() ?? []
            #expect(try errors.map { try $0["index"]?.integer() } == [Int64(Self.count - 1)])
            #expect(try await host.users.read { try $0.userCount() } == 1)
            let forced = try await host.admin("batchDelete", #"{"localIds":\#(names(Self.count)),"force":true}"#)
            #expect(try forced.body.members().isEmpty)
            #expect(try await host.users.read { try $0.userCount() } == 0)
        }
    }

    @Test func manyUsersAreImportedInSeveralCommits() async throws {
        try await SignInHost.serving { host in
            try await insert(1, in: host.users)
            let users = (0..<Self.count).map { n in
                n == Self.count - 1 ? #"{"localId":"u\#(n)","email":"x"}"# : #"{"localId":"u\#(n)"}"#
            }
            let before = await version(host)
            let answer = try await host.admin("batchCreate", #"{"users":[\#(users.joined(separator: ","))]}"#)
            #expect(await version(host) - before >= 3)
            let errors = try answer.body["error"]?.elements() ?? []
            #expect(try errors.map { try $0["index"]?.integer() } == [0, Int64(Self.count - 1)])
            #expect(try await host.users.read { try $0.userCount() } == Self.count - 1)
        }
    }

    @Test func timesOfAnImportAreNumbersOrTexts() async throws {
        try await SignInHost.serving { host in
            let text = #"{"localId":"ada","createdAt":"2026-01-02T03:04:05.006Z","lastLoginAt":"2026-01-02T03:04:06Z"}"#
            let number = #"{"localId":"ken","createdAt":"1767323045006","lastLoginAt":1767323046000}"#
            let answer = try await host.admin("batchCreate", #"{"users":[\#(text),\#(number)]}"#)
            #expect(answer.body["error"] == nil)
            for uid in ["ada", "ken"] {
                let user = try await host.users.read { try $0.user(uid) }
                #expect(user?.createdAt == 1_767_323_045_006)
                #expect(user?.lastSignInAt == 1_767_323_046_000)
            }
        }
    }

    /// As Firebase exports it. Without its secret the app can't be asked, and to leave it out would weaken the sign-in.
    @Test func anAuthenticatorAppWithoutItsSecretIsRefusedWithTheReason() async throws {
        try await SignInHost.serving { host in
            let factor = #"{"mfaEnrollmentId":"f","displayName":"app","totpInfo":{}}"#
            let answer = try await host.admin(
                "batchCreate", #"{"users":[{"localId":"ada","mfaInfo":[\#(factor)]},{"localId":"bob"}]}"#)
            let errors = try answer.body["error"]?.elements() ?? []
            #expect(errors.count == 1)
            #expect(try errors.first?["message"]?.string().contains("Firebase doesn't export") == true)
            #expect(try await host.users.read { try $0.userCount() } == 1)
        }
    }

    @Test func allUsersAreDeletedBesideOneWhoCannotBeRead() async throws {
        let log = LogLines()
        try await SignInHost.serving(logger: log.logger) { host in
            try await insert(Self.count, in: host.users)
            try host.pipeline.engine.write { try $0.put(.users, UserKeys.user("u1"), [255]) }
            _ = try await host.toolkit.deleteAllUsers()
            #expect(try await host.users.read { try $0.userCount() } == 1)
        }
        let line = "a user can't be read and is left out of a list; see \"functions-host data check\" uid=u1"
        #expect(log.all.filter { $0 == line }.count == 1)
    }

    /// Also if they aren't in the same commit, and beside one who can't have what a user outside of the import has.
    @Test(arguments: [2, count]) func importedUsersMayHaveExchangedWhatIsUnique(count: Int) async throws {
        try await SignInHost.serving { host in
            func user(_ uid: String, _ email: String, _ rawID: String) -> UserRecord {
                var user = UserRecord(uid: uid, createdAt: 0)
                user.email = email
                user.identities = [ProviderIdentity(provider: "google.com", rawID: rawID)]
                return user
            }
            let last = "u\(count - 1)"
            let stored = [
                user("u0", "a@example.com", "a"), user(last, "b@example.com", "b"), user("x", "x@example.com", "x"),
                user("y", "y@example.com", "y"),
            ]
            try await host.users.commit { transaction in for user in stored { try transaction.insert(user) } }
            func json(_ uid: String, _ email: String, _ rawID: String) -> String {
                #"{"localId":"\#(uid)","email":"\#(email)@example.com","#
                    + #""providerUserInfo":[{"providerId":"google.com","rawId":"\#(rawID)"}]}"#
            }
            var users = (1..<(count - 1)).map { #"{"localId":"u\#($0)"}"# }
            users = [json("u0", "b", "b")] + users + [json(last, "a", "a"), json("x", "y", "x")]
            let answer = try await host.admin(
                "batchCreate", #"{"users":[\#(users.joined(separator: ","))],"allowOverwrite":true}"#)
            let errors = try answer.body["error"]?.elements() ?? []
            #expect(try errors.map { try $0["index"]?.integer() } == [Int64(count)])
            let found = try await host.users.read { reader in
                [
                    try reader.user(email: "a@example.com")?.uid, try reader.user(email: "b@example.com")?.uid,
                    try reader.user(provider: "google.com", rawID: "a")?.uid,
                    try reader.user(provider: "google.com", rawID: "b")?.uid,
                    // Who is refused stays as before.
                    try reader.user(email: "x@example.com")?.uid, try reader.user(email: "y@example.com")?.uid,
                ]
            }
            #expect(found == [last, "u0", last, "u0", "x", "y"])
        }
    }

    /// Each is an error of its own, and all others are deleted and imported.
    @Test func usersWhoCannotBeReadAreErrorsOfTheirOwn() async throws {
        try await SignInHost.serving { host in
            try await insert(3, in: host.users)
            try host.pipeline.engine.write { try $0.put(.users, UserKeys.user("u1"), [255]) }
            let deleted = try await host.admin("batchDelete", #"{"localIds":\#(names(3)),"force":true}"#)
            let errors = try deleted.body["errors"]?.elements() ?? []
            #expect(try errors.map { try $0["localId"]?.string() } == ["u1"])
            #expect(try await host.users.read { try $0.userCount() } == 1)
            let users = (0..<3).map { #"{"localId":"u\#($0)"}"# }.joined(separator: ",")
            let imported = try await host.admin("batchCreate", #"{"users":[\#(users)],"allowOverwrite":true}"#)
            let problems = try imported.body["error"]?.elements() ?? []
            #expect(try problems.map { try $0["index"]?.integer() } == [1])
            #expect(try await host.users.read { try $0.userCount() } == 3)
        }
    }
}
