import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Damage to rows that are only removed: expired ones, and the old end of the change log.
struct DamagedRemainsTests {
    @Test(arguments: [StorageTable.changes, .completions, .deliveries])
    func noCommitFailsForRowsThatAreToBeRemoved(table: StorageTable) async throws {
        let errors = Mutex<[StorageError]>([])
        var commits = CommitConfiguration()
        commits.onDamage = { error in errors.withLock { $0.append(error) } }
        let test = try TestStore(engine: DamagedRemains(table), commits: commits)
        try await withStore(test) { test in
            for number in 1...3 as ClosedRange<Int64> {
                try await test.set("a/b", ["n": .integer(number)])
                // Expired rows are looked for once a second.
                test.clock.advance(seconds: 2)
            }
            #expect(try await test.get("a/b")?.fields["n"] == .integer(3))
        }
        #expect(errors.withLock { $0.map(\.kind) } == [.damaged])
    }
}
