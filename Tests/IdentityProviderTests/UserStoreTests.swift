import TestSupport
@testable import IdentityProvider
import Foundation
import GRDB
import Testing

@Suite struct UserStoreTests {
    @Test func commitsAreSynced() async throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        let store = try UserStore(directory: directory.path)
        let level = try await store.pool.writeWithoutTransaction { try Int.fetchOne($0, sql: "PRAGMA synchronous") }
        // FULL
        #expect(level == 2)
    }

    @Test func migrationsRunByName() throws {
        let directory = try TemporaryDirectory()
        defer { withExtendedLifetime(directory) {} }
        try UserStore(directory: directory.path).close()
        let queue = try DatabaseQueue(path: directory.path + "/users.sqlite")
        let applied = try queue.read { try UserStore.migrator.appliedMigrations($0) }
        #expect(applied == ["users and refresh tokens"])
    }
}
