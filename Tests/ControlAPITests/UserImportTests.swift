import CommitPipeline
import DocumentModel
import SQLiteStorage
import TestSupport
import Testing
import UserStore

@testable import ControlAPI

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
}
