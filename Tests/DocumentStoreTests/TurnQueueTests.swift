import TestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct TurnQueueTests {
    private var queue = TurnQueue()
    private let a = TransactionID(rawValue: 1)
    private let b = TransactionID(rawValue: 2)
    private let c = TransactionID(rawValue: 3)

    private func keys(_ ids: String...) -> Set<TurnKey> {
        Set(ids.map { .collection($0, isGroup: false) })
    }

    @Test mutating func turnsComeInTheOrderOfArrival() {
        #expect(queue.join(a, keys: keys("x")) == [.grant(a)])
        #expect(queue.join(b, keys: keys("x")) == [])
        #expect(queue.join(c, keys: keys("x")) == [])
        #expect(queue.leave(a) == [.grant(b)])
        #expect(queue.leave(b) == [.grant(c)])
        #expect(queue.leave(c) == [])
        #expect(queue.isEmpty)
    }

    @Test mutating func othersDoNotWaitForEachOther() {
        #expect(queue.join(a, keys: keys("x")) == [.grant(a)])
        #expect(queue.join(b, keys: keys("y")) == [.grant(b)])
    }

    @Test mutating func nobodyIsOvertakenByOneWhoWantsLess() {
        #expect(queue.join(a, keys: keys("x")) == [.grant(a)])
        #expect(queue.join(b, keys: keys("x", "y")) == [])
        #expect(queue.join(c, keys: keys("y")) == [])
        #expect(queue.leave(a) == [.grant(b)])
        #expect(queue.leave(b) == [.grant(c)])
    }

    @Test mutating func whoGivesUpWaitingLetsOthersPass() {
        #expect(queue.join(a, keys: keys("x")) == [.grant(a)])
        #expect(queue.join(b, keys: keys("x", "y")) == [])
        #expect(queue.join(c, keys: keys("y")) == [])
        #expect(queue.leave(b) == [.grant(c)])
    }

    @Test mutating func aTryThatContinuesKeepsItsPlace() {
        #expect(queue.join(a, keys: keys("x")) == [.grant(a)])
        #expect(queue.join(b, keys: keys("x", "y")) == [])
        let again = TransactionID(rawValue: 10)
        // It wants more now, also what a later one waits for.
        #expect(queue.continue(a, as: again, keys: keys("y")) == [.grant(again)])
        #expect(queue.leave(a) == [])
        #expect(queue.leave(again) == [.grant(b)])
    }

    @Test mutating func aTryThatWantsWhatAnotherHoldsWaitsForIt() {
        #expect(queue.join(a, keys: keys("x")) == [.grant(a)])
        #expect(queue.join(b, keys: keys("y")) == [.grant(b)])
        let again = TransactionID(rawValue: 10)
        #expect(queue.continue(a, as: again, keys: keys("y")) == [])
        #expect(queue.join(c, keys: keys("x")) == [])
        #expect(queue.leave(b) == [.grant(again)])
        #expect(queue.leave(again) == [.grant(c)])
    }

    @Test func randomUseNeverStopsNorSharesAKey() {
        var generator = SeededGenerator(seed: 4)
        var queue = TurnQueue()
        var holders: [TransactionID: Set<TurnKey>] = [:]
        var waiting: [TransactionID: Set<TurnKey>] = [:]
        func perform(_ actions: [TurnQueue.Action]) {
            for case .grant(let id) in actions {
                guard let keys = waiting.removeValue(forKey: id) else {
                    Issue.record("a turn that none waits for")
                    continue
                }
                for held in holders.values where !held.isDisjoint(with: keys) { Issue.record("a key has two holders") }
                holders[id] = keys
            }
        }
        for step in 1...4000 {
            let id = TransactionID(rawValue: UInt64(step))
            let wanted = Set(
                (0..<Int.random(in: 1...3, using: &generator)).map { _ in
                    TurnKey.collection("k\(Int.random(in: 0..<6, using: &generator))", isGroup: false)
                })
            let known = Array(holders.keys).sorted { $0.rawValue < $1.rawValue }
            switch (Int.random(in: 0..<5, using: &generator), known.randomElement(using: &generator)) {
            case (0...1, let holder?):
                holders[holder] = nil
                perform(queue.leave(holder))
            case (2, let holder?):
                waiting[id] = (holders.removeValue(forKey: holder) ?? []).union(wanted)
                perform(queue.continue(holder, as: id, keys: wanted))
            default:
                waiting[id] = wanted
                perform(queue.join(id, keys: wanted))
            }
            for number in 0..<6 {
                let key = TurnKey.collection("k\(number)", isGroup: false)
                let holder = holders.first { $0.value.contains(key) }?.key
                if queue.holder(of: key) != holder { Issue.record("another holder, at step \(step)") }
            }
            if holders.isEmpty, !waiting.isEmpty {
                Issue.record("all wait and none has a turn, at step \(step)")
                return
            }
        }
        while let holder = holders.keys.first {
            holders[holder] = nil
            perform(queue.leave(holder))
        }
        #expect(waiting.isEmpty)
        #expect(queue.isEmpty)
    }
}
