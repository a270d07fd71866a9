import Sharing
import Testing

@Suite struct FairQueueTests {
    private func fill(_ queue: inout FairQueue<String, Int>, _ key: String?, _ numbers: some Sequence<Int>) -> Int {
        var taken = 0
        for number in numbers where queue.append(number, of: key) { taken += 1 }
        return taken
    }

    @Test func aCallerWithoutATurnKeepsItsPlace() {
        var queue = FairQueue<String, Int>(places: 100)
        _ = fill(&queue, "a", 1...2)
        _ = fill(&queue, "b", 11...12)
        func next(except busy: String?) -> Int? { queue.popFirst { $0 != busy }?.element }
        #expect(next(except: "a") == 11)
        #expect(next(except: "b") == 1)
        #expect(next(except: "a") == 12)
        #expect(next(except: "a") == nil)
        #expect(queue.count == 1)
        #expect(next(except: "b") == 2)
        #expect(queue.isEmpty)
    }

    @Test func callersAreServedInTurn() {
        var queue = FairQueue<String, Int>(places: 100)
        _ = fill(&queue, "a", 1...3)
        _ = fill(&queue, "b", 11...12)
        _ = fill(&queue, nil, 21...21)
        var order: [Int] = []
        while let next = queue.popFirst() { order.append(next) }
        #expect(order == [1, 11, 21, 2, 12, 3])
        #expect(queue.isEmpty)
        #expect(queue.callers == 0)
    }

    @Test(arguments: [1, 64, 65, 300]) func aQueueThatWasEmptiedServesAgain(callers: Int) {
        var queue = FairQueue<Int, Int>(places: 1000)
        for round in 0..<3 {
            for number in 0..<callers * 2 {
                let isIn = queue.append(number + round, of: number % callers)
                #expect(isIn)
            }
            #expect(queue.callers == callers)
            for number in 0..<callers * 2 {
                let (first, next) = (queue.first, queue.popFirst())
                #expect(first == number + round)
                #expect(next == number + round)
            }
            #expect(queue.isEmpty)
            #expect(queue.callers == 0)
        }
    }

    @Test func oneCallerAloneGetsHalfAndOthersStillGetIn() {
        var queue = FairQueue<String, Int>(places: 1000)
        #expect(fill(&queue, "greedy", 0..<2000) == 500)
        for caller in 0..<400 {
            let isIn = queue.append(caller, of: "\(caller)")
            #expect(isIn)
        }
        let isIn = queue.append(0, of: "greedy")
        #expect(!isIn)
    }

    @Test(arguments: [1, 2, 5, 9]) func greedyCallersGetTheSame(callers: Int) {
        var queue = FairQueue<Int, Int>(places: 1000)
        var held = [Int](repeating: 0, count: callers)
        for number in 0..<5000 where queue.append(number, of: number % callers) { held[number % callers] += 1 }
        #expect((held.max() ?? 0) - (held.min() ?? 0) <= 1)
        #expect(held.allSatisfy { abs($0 - 1000 / (callers + 1)) <= 1 })
    }

    @Test func whatHasNoCallerMayTakeEveryPlace() {
        var queue = FairQueue<String, Int>(places: 10)
        #expect(fill(&queue, nil, 0..<20) == 10)
        #expect(fill(&queue, "a", 0..<1) == 0)
    }

    @Test(arguments: [(0, 0), (1, 1), (2, 1), (3, 2)]) func smallQueuesHaveAPlaceToo(places: Int, taken: Int) {
        var queue = FairQueue<String, Int>(places: places)
        #expect(fill(&queue, "a", 0..<5) == taken)
    }

    @Test func whatIsTakenOutLosesItsTurn() {
        var queue = FairQueue<String, Int>(places: 100)
        _ = fill(&queue, "a", 1...2)
        _ = fill(&queue, "b", 11...11)
        let removed = [(1, "a"), (1, "a"), (2, "b"), (2, "a")].map { queue.remove($0.0, of: $0.1) }
        #expect(removed == [true, false, false, true])
        _ = fill(&queue, "a", 3...3)
        let rest = queue.removeAll()
        #expect(rest == [11, 3])
        #expect(queue.isEmpty)
    }
}
