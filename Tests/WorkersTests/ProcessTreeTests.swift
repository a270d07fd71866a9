@testable import Workers
import Testing

struct ProcessTreeTests {
    private typealias Descent = ProcessFigures.Descent

    private func refresh(_ tree: inout ProcessTree, _ table: [Int32: Descent], workers: Set<Int32> = [10, 20]) {
        tree.refresh(workers: workers, all: table.keys.sorted(), descent: { table[$0] })
    }

    private func descent(_ parent: Int32, _ group: Int32) -> Descent {
        Descent(parent: parent, group: group, startedAt: 5)
    }

    @Test func childrenAreThoseOfTheGroupAndThoseThatLeftIt() {
        var tree = ProcessTree()
        refresh(
            &tree,
            [
                10: descent(1, 10), 20: descent(1, 20), 30: descent(10, 10), 31: descent(10, 31),
                // A grandchild of a lower number than its parent's.
                11: descent(31, 11), 40: descent(20, 20), 50: descent(1, 50),
            ])
        #expect(tree.children(of: 10) == [11, 30, 31])
        #expect(tree.children(of: 20) == [40])
    }

    @Test func aNumberThatNamesAnotherProcessByNowIsNobodys() {
        var tree = ProcessTree()
        refresh(&tree, [10: descent(1, 10), 30: descent(10, 10)])
        #expect(tree.children(of: 10) == [30])
        refresh(&tree, [10: descent(1, 10), 30: Descent(parent: 1, group: 30, startedAt: 6)])
        #expect(tree.children(of: 10) == [])
        // Or it is a worker itself.
        refresh(&tree, [10: descent(1, 10), 31: descent(10, 10)])
        refresh(&tree, [10: descent(1, 10), 31: descent(10, 10)], workers: [10, 31])
        #expect(tree.children(of: 10) == [])
    }

    @Test func whoWasSeenToBelongDoesSoWithoutItsParent() {
        var tree = ProcessTree()
        refresh(&tree, [10: descent(1, 10), 31: descent(10, 31), 32: descent(31, 31)])
        refresh(&tree, [10: descent(1, 10), 32: descent(1, 31)])
        #expect(tree.children(of: 10) == [32])
        #expect(tree.remove(10, descent: { $0 == 32 ? descent(1, 31) : nil }) == [32])
        #expect(tree.children(of: 10) == [])
    }

    @Test func aNumberThatNamesAnotherProcessNowIsLeftAlone() {
        var tree = ProcessTree()
        refresh(&tree, [10: descent(1, 10), 31: descent(10, 31)])
        #expect(tree.remove(10, descent: { _ in Descent(parent: 1, group: 31, startedAt: 6) }) == [])
    }

    @Test func aStrangersNumberIsLookedAtAgainInTime() {
        var tree = ProcessTree()
        refresh(&tree, [10: descent(1, 10), 31: descent(1, 31)])
        for _ in 0..<10 { refresh(&tree, [10: descent(1, 10), 31: descent(10, 10)]) }
        #expect(tree.children(of: 10) == [31])
    }
}
