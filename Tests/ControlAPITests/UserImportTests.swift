import CommitPipeline
import DocumentModel
import SQLiteStorage
import StorageEngine
import TestSupport
import Testing

@testable import ControlAPI
@testable import UserStore

/// The users of an import take the place of those that are there.
@Suite struct UserImportTests {
    /// A token that was revoked since the export isn't good again.
    @Test func theSignInsOfAReplacedUserEnd() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let engine = try SQLiteEngine(file: directory.file("store.sqlite"))
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: 1_000_000, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo")
        try pipeline.start()
        let exported = UserRecord(uid: "ada", createdAt: 1)
        try await users.commit { transaction in
            var user = exported
            user.signInGeneration = 3
            try transaction.insert(user)
        }
        var importing = UserImport(users)
        try await importing.add(exported, line: 2)
        try await importing.finish()
        let replaced = try await users.read { try $0.user("ada") }
        #expect(replaced?.signInGeneration == 4)
        // Nor is one of a user who was deleted since.
        var another = UserImport(users)
        try await another.add(UserRecord(uid: "ken", createdAt: 1), line: 2)
        try await another.finish()
        let new = try await users.read { try $0.user("ken") }
        #expect(try #require(new).signInGeneration != 0)
        await pipeline.shutdown()
        try engine.close()
    }
    /// The first one in the file gets what the other has until its line.
    @Test func usersOfABatchMayHaveExchangedAddresses() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let engine = try SQLiteEngine(file: directory.file("store.sqlite"))
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: 1_000_000, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo")
        try pipeline.start()
        func user(_ uid: String, _ email: String, _ number: String, _ rawID: String) -> UserRecord {
            var user = UserRecord(uid: uid, createdAt: 1)
            (user.email, user.phoneNumber) = (email, number)
            user.identities = [ProviderIdentity(provider: "google.com", rawID: rawID)]
            return user
        }
        let stored = [user("ada", "a@example.com", "+441", "g1"), user("ken", "k@example.com", "+442", "g2")]
        try await users.commit { transaction in for user in stored { try transaction.insert(user) } }
        let exported = [user("ada", "k@example.com", "+442", "g2"), user("ken", "a@example.com", "+441", "g1")]
        var importing = UserImport(users)
        for (index, user) in exported.enumerated() { try await importing.add(user, line: 2 + index) }
        try await importing.finish()
        let found = try await users.read { users in
            [
                try users.user(email: "a@example.com")?.uid, try users.user(phoneNumber: "+441")?.uid,
                try users.user(provider: "google.com", rawID: "g1")?.uid, try users.user(email: "k@example.com")?.uid,
            ]
        }
        #expect(found == ["ken", "ken", "ken", "ada"])
        // What a user outside of the batch has is still a conflict.
        var taking = UserImport(users)
        try await taking.add(user("ada", "a@example.com", "+442", "g2"), line: 2)
        do {
            try await taking.finish()
            Issue.record("the address was taken")
        } catch let error as DocumentError {
            #expect(error.code == .alreadyExists)
        }
        let kept = try await users.read { try $0.user(email: "k@example.com")?.uid }
        #expect(kept == "ada")
        var problems: [String] = []
        _ = try pipeline.check(report: { problems.append($0) }, progress: { _ in })
        #expect(problems == [])
        await pipeline.shutdown()
        try engine.close()
    }

    @Test func aUserWhoCannotBeReadIsNamed() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let engine = try SQLiteEngine(file: directory.file("store.sqlite"))
        let pipeline = try CommitPipeline(
            engine: engine, now: { Timestamp(seconds: 1_000_000, nanoseconds: 0) })
        let users = try UserStore(on: pipeline, project: "demo")
        try pipeline.start()
        let user = UserRecord(uid: "ada", createdAt: 1)
        try await users.commit { try $0.insert(user) }
        try engine.write { try $0.put(.users, UserKeys.user("ada"), [255]) }
        var importing = UserImport(users)
        try await importing.add(user, line: 2)
        do {
            try await importing.finish()
            Issue.record("the user was replaced")
        } catch let error as DocumentError {
            #expect(error.code == .dataLoss)
            #expect(error.message.hasPrefix("line 2: the user ada, who is to be replaced, can't be read"))
        }
        await pipeline.shutdown()
        try engine.close()
    }
}
