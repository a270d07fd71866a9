import DocumentModel
import Testing

@testable import CommitPipeline

/// Who may work on a delivery.
@Suite struct DeliveryLeasesTests {
    private let id = DeliveryID(event: EventID(version: 1, ordinal: 0), function: "f")

    @Test func aLeaseIsOneAttemptsAlone() throws {
        let leases = DeliveryLeases()
        let first = try #require(leases.lease(id))
        #expect(leases.lease(id) == nil)
        leases.revoke(first)
        // Its attempt goes on, but nothing is committed any more.
        #expect(leases.holds(first) && !leases.isCurrent(first))
        #expect(leases.lease(id) == nil)
        leases.end(first)
        #expect(leases.lease(id) != nil)
    }

    /// The deadline of an attempt that is over may be noticed late.
    @Test func aLeaseThatHasEndedCannotTouchTheNextOne() throws {
        let leases = DeliveryLeases()
        let first = try #require(leases.lease(id))
        leases.end(first)
        let second = try #require(leases.lease(id))
        leases.revoke(first)
        leases.end(first)
        #expect(leases.isCurrent(second))
        #expect(!leases.holds(first) && !leases.isCurrent(first))
        #expect(leases.lease(id) == nil)
    }
}
