@testable import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Deliveries that an operator changes while the dispatcher may have them in memory.
@Suite(.endsHangs) struct WithdrawalTests {
    /// Otherwise the dispatcher could begin an attempt with what it has in memory, which holds no longer.
    @Test func aDeliveryCannotBeLeasedBeforeItsWithdrawalIsAnnounced() async throws {
        let test = try TestStore(.memory)
        test.store.routeEvents(by: EventRoutes(), documents: [try .init("f", .written, "a/{id}")])
        for number in 0..<2 { try await test.set("a/\(number)", [:]) }
        let ids = try await test.due("f").map(\.delivery.id)
        try #require(ids.count == 2)
        let announced = Mutex<[DeliveryID]>([])
        let leased = Mutex<[DeliveryID]>([])
        test.store.outbox.onChanges { [outbox = test.store.outbox] changes in
            for id in changes.withdrawn {
                announced.withLock { $0.append(id) }
                guard let lease = outbox.lease(id) else { continue }
                leased.withLock { $0.append(id) }
                outbox.release(lease)
            }
        }
        #expect(try await test.store.outbox.drop([ids[0]]) == 1)
        #expect(try await test.deadLetter([ids[1]], because: "old") == 1)
        #expect(announced.withLock { $0 } == ids)
        #expect(leased.withLock { $0 }.isEmpty)
        // Afterwards it can be.
        #expect(test.store.outbox.lease(ids[1]) != nil)
        await test.store.shutdown()
    }
}
