@testable import Sharing
import TestSupport
import Testing

@Suite struct MemoryBudgetTests {
    @Test func aCallerGetsItsShareAndLeavesTheRest() {
        let budget = MemoryBudget(total: 800)
        #expect(budget.most(for: .user(1)) == 300)
        #expect(budget.take(300, for: .user(1)))
        // Three eighths of everything.
        #expect(!budget.take(1, for: .user(1)))
        // Half of what the first one leaves.
        #expect(budget.take(250, for: .user(2)))
        #expect(!budget.take(1, for: .user(2)))
        #expect(budget.take(125, for: .user(3)))
        #expect(!budget.take(63, for: .user(4)))
        #expect(budget.take(62, for: .user(4)))
        #expect(budget.figures.used == 737)
        budget.release(300, of: .user(1))
        #expect(budget.take(100, for: .user(4)))
        #expect(budget.figures == (used: 537, peak: 737))
    }

    @Test func strangersTogetherGetHalf() {
        let budget = MemoryBudget(total: 800)
        #expect(budget.take(300, for: .stranger(1)))
        #expect(!budget.take(101, for: .stranger(2)))
        #expect(budget.take(100, for: .stranger(2)))
        #expect(!budget.take(1, for: .stranger(3)))
        #expect(budget.take(200, for: .user(3)))
    }

    @Test func theHostMayHaveAllThatIsLeft() {
        let budget = MemoryBudget(total: 800)
        #expect(budget.take(100, for: .stranger(1)))
        #expect(budget.take(700, for: .host))
        #expect(!budget.take(1, for: .host))
        budget.release(700, of: .host)
        #expect(budget.figures.used == 100)
    }

    @Test func aRequestIsItsUsersOnceStrangersHaveNoRoom() {
        let budget = MemoryBudget(total: 800)
        #expect(budget.take(300, for: .stranger(1)))
        var identified = 0
        func user() -> MemoryBudget.Holder? {
            identified += 1
            return .user(7)
        }
        var takes: [Bool] = []
        var held = HeldMemory(budget, address: 2)
        takes.append(held.take(100, identify: user))
        #expect(identified == 0)
        takes.append(held.take(50, identify: user))
        takes.append(held.take(50, identify: user))
        #expect(identified == 1)
        #expect(takes == [true, true, true])
        #expect(held.bytes == 200)
        var other = HeldMemory(budget, address: 3)
        let isRefused = !other.take(1, identify: { nil })
        #expect(isRefused)
        held.release()
        held.release()
        #expect(budget.figures.used == 300)
        let isTaken = other.take(1, identify: { nil })
        #expect(isTaken)
    }

    @Test func whatGrowsAndShrinksIsHeldRoughly() {
        let budget = MemoryBudget(total: 1_600_000)
        var held = HeldMemory(budget, address: 1)
        // A little isn't worth it, and beyond what a stranger may hold it is the user's.
        for (bytes, user, expected) in [
            (65_536, nil, 0), (65_537, nil, 65_537), (600_000, nil, 600_000), (900_000, nil, nil),
            (900_000, 7, 900_000), (840_000, nil, 900_000), (500_000, nil, 500_000), (1, nil, 1), (0, nil, 0),
        ] as [(Int, UInt64?, Int?)] {
            let isHeld = held.adjust(to: bytes, identify: { user.map { .user($0) } })
            #expect(isHeld == (expected != nil))
            if let expected { #expect(budget.figures.used == expected && held.bytes == expected) }
        }
        // All of it is given back to whom it was taken from.
        let isLeft = budget.take(600_000, for: .user(7)) && budget.take(500_000, for: .stranger(1))
        #expect(isLeft)
    }

    @Test func nothingIsLostOverManyTurns() {
        var random = SeededGenerator(seed: 7)
        let budget = MemoryBudget(total: 10_000)
        var held: [MemoryBudget.Holder: Int] = [:]
        for _ in 0..<20_000 {
            let number = UInt64.random(in: 0..<6, using: &random)
            let holder: MemoryBudget.Holder =
                switch number % 3 {
                case 0: .user(number)
                case 1: .stranger(number)
                default: .host
                }
            let bytes = Int.random(in: 0...3000, using: &random)
            if Bool.random(using: &random) {
                if budget.take(bytes, for: holder) { held[holder, default: 0] += bytes }
            } else {
                let some = min(bytes, held[holder] ?? 0)
                budget.release(some, of: holder)
                held[holder, default: 0] -= some
            }
            #expect(budget.figures.used == held.values.reduce(0, +))
            #expect(budget.figures.used <= budget.total)
        }
    }
}
