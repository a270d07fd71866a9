@testable import Workers
import Testing

struct ProcessKinTests {
    private typealias Descent = ProcessFigures.Descent

    private func refresh(_ kin: inout ProcessKin, _ table: [Int32: Descent], workers: Set<Int32> = [10, 20]) {
        kin.refresh(workers: workers, all: table.keys.sorted(), descent: { table[$0] })
    }

    private func descent(_ parent: Int32, _ group: Int32) -> Descent {
        Descent(parent: parent, group: group, startedAt: 5)
    }

    @Test func childrenAreThoseOfTheGroupAndThoseThatLeftIt() {
        var kin = ProcessKin()
        refresh(
            &kin,
            [
                10: descent(1, 10), 20: descent(1, 20), 30: descent(10, 10), 31: descent(10, 31),
                // A grandchild of a lower number than its parent's.
                11: descent(31, 11), 40: descent(20, 20), 50: descent(1, 50),
            ])
        #expect(kin.children(of: 10) == [11, 30, 31])
        #expect(kin.children(of: 20) == [40])
    }

    @Test func aNumberThatNamesAnotherProcessByNowIsNobodys() {
        var kin = ProcessKin()
        refresh(&kin, [10: descent(1, 10), 30: descent(10, 10)])
        #expect(kin.children(of: 10) == [30])
        refresh(&kin, [10: descent(1, 10), 30: Descent(parent: 1, group: 30, startedAt: 6)])
        #expect(kin.children(of: 10) == [])
        // Or it is a worker itself.
        refresh(&kin, [10: descent(1, 10), 31: descent(10, 10)])
        refresh(&kin, [10: descent(1, 10), 31: descent(10, 10)], workers: [10, 31])
        #expect(kin.children(of: 10) == [])
    }

    @Test func whoWasSeenToBelongDoesSoWithoutItsParent() {
        var kin = ProcessKin()
        refresh(&kin, [10: descent(1, 10), 31: descent(10, 31), 32: descent(31, 31)])
        refresh(&kin, [10: descent(1, 10), 32: descent(1, 31)])
        #expect(kin.children(of: 10) == [32])
        #expect(kin.remove(10, descent: { $0 == 32 ? descent(1, 31) : nil }) == [32])
        #expect(kin.children(of: 10) == [])
    }

    @Test func aNumberThatNamesAnotherProcessNowIsLeftAlone() {
        var kin = ProcessKin()
        refresh(&kin, [10: descent(1, 10), 31: descent(10, 31)])
        #expect(kin.remove(10, descent: { _ in Descent(parent: 1, group: 31, startedAt: 6) }) == [])
    }

    @Test func aStrangersNumberIsLookedAtAgainInTime() {
        var kin = ProcessKin()
        refresh(&kin, [10: descent(1, 10), 31: descent(1, 31)])
        for _ in 0..<10 { refresh(&kin, [10: descent(1, 10), 31: descent(10, 10)]) }
        #expect(kin.children(of: 10) == [31])
    }
}
