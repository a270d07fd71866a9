import Sharing
import Testing

@Suite struct FairSharesTests {
    @Test func eachHolderLeavesSomethingToTheNext() {
        let shares = FairShares<Int>(total: 16)
        #expect((0..<20).count { _ in shares.take(for: 1) } == 8)
        #expect((0..<20).count { _ in shares.take(for: 2) } == 4)
        #expect((0..<20).count { _ in shares.take(for: 3) } == 2)
        shares.release(of: 1)
        #expect(shares.take(for: 4))
        #expect(!shares.take(for: 2))
    }

    @Test func theTotalBoundsAll() {
        let shares = FairShares<Int>(total: 3)
        #expect(shares.take(for: nil) && shares.take(for: 1) && shares.take(for: nil))
        #expect(!shares.take(for: nil) && !shares.take(for: 2))
        shares.release(of: nil)
        #expect(shares.take(for: 2))
    }
}
