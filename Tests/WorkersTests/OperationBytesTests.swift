import Synchronization
import TestSupport
import Testing

@testable import Workers

/// The memory for workers' operations.
@Suite struct OperationBytesTests {
    /// Holds what it receives.
    private final class Taker: OperationBytesTaker {
        let bytes = Mutex([Int]())

        func received(_ bytes: Int) { self.bytes.withLock { $0.append(bytes) } }

        /// What it has received since the last call.
        func take() -> [Int] {
            bytes.withLock { bytes in
                defer { bytes = [] }
                return bytes
            }
        }
    }

    private static let mebibyte = 1 << 20

    @Test(arguments: 0..<20)
    func boundsHoldWhateverIsAskedFor(seed: UInt64) {
        struct Link {
            let account: OperationBytes.Account
            let taker = Taker()
            var held: [Int] = []
            var waitsFor: Int?
        }
        var generator = SeededGenerator(seed: seed)
        let bytes = OperationBytes()
        let accounts = (0..<5).map { _ in bytes.account() }
        var links = (0..<8).map { Link(account: accounts[$0 % accounts.count]) }
        func collect() {
            for index in links.indices {
                for received in links[index].taker.take() {
                    #expect(links[index].waitsFor == received)
                    links[index].waitsFor = nil
                    links[index].held.append(received)
                }
            }
        }
        for _ in 0..<3000 {
            let index = links.indices.randomElement(using: &generator) ?? 0
            switch Int.random(in: 0..<10, using: &generator) {
            case 0..<5 where links[index].waitsFor == nil:
                let size =
                    Bool.random(using: &generator)
                    ? Int.random(in: 1...300_000, using: &generator)
                    : Int.random(in: 1...bytes.largest, using: &generator)
                if links[index].account.take(size, orLater: links[index].taker) {
                    links[index].held.append(size)
                } else {
                    links[index].waitsFor = size
                }
            case 5 where !links[index].held.isEmpty:
                let size = Int.random(in: 1...Self.mebibyte, using: &generator)
                if links[index].account.grow(by: size) { links[index].held.append(size) }
            case 6:
                if links[index].account.withdraw(links[index].taker) {
                    #expect(links[index].waitsFor != nil)
                    links[index].waitsFor = nil
                }
            default:
                guard let size = links[index].held.popLast() else { continue }
                links[index].account.give(size)
            }
            collect()
            #expect(bytes.held <= bytes.all)
            #expect(bytes.held == links.reduce(0) { $0 + $1.held.reduce(0, +) })
            for account in accounts {
                #expect(account.held <= bytes.worker)
                let held = links.filter { $0.account === account }.reduce(0) { $0 + $1.held.reduce(0, +) }
                #expect(account.held == held)
            }
        }
        // Once everything is given back, and then again what was waited for, no link waits.
        while let index = links.indices.first(where: { !links[$0].held.isEmpty }) {
            if let size = links[index].held.popLast() { links[index].account.give(size) }
            collect()
        }
        #expect(bytes.held == 0)
        #expect(links.allSatisfy { $0.waitsFor == nil })
    }

    /// Takes pieces until one must wait, and keeps them.
    private func hoard(_ account: OperationBytes.Account, _ piece: Int) -> Taker {
        let taker = Taker()
        while account.take(piece, orLater: taker) {}
        return taker
    }

    @Test func whoKeepsEverythingLeavesSomethingForOthers() {
        let bytes = OperationBytes()
        let first = bytes.account()
        let takers = [hoard(first, 256 * 1024)]
        #expect(first.held == bytes.worker)
        // It waits for itself only, so that another gets a large answer at once.
        let other = bytes.account()
        #expect(other.take(bytes.largest, orLater: takers[0]))
        other.give(bytes.largest)
        // However many there are, the next one can begin an operation.
        var hoarders: [(OperationBytes.Account, Taker)] = []
        for _ in 0..<30 {
            let account = bytes.account()
            hoarders.append((account, hoard(account, 256 * 1024)))
            #expect(account.held >= 256 * 1024)
        }
        #expect(bytes.held <= bytes.all)
    }

    @Test func whoWaitsIsServedInTheOrderOfAsking() {
        let bytes = OperationBytes()
        let hoarders = (0..<4).map { _ in bytes.account() }
        let pieces = hoarders.map { account in
            var count = 0
            while account.grow(by: Self.mebibyte) { count += 1 }
            return count
        }
        let waiting = (0..<3).map { _ in (account: bytes.account(), taker: Taker()) }
        for waiter in waiting { #expect(!waiter.account.take(bytes.largest, orLater: waiter.taker)) }
        var order: [Int] = []
        for (hoarder, count) in zip(hoarders, pieces) {
            for _ in 0..<count {
                hoarder.give(Self.mebibyte)
                for (index, waiter) in waiting.enumerated() where !waiter.taker.take().isEmpty { order.append(index) }
            }
        }
        for waiter in waiting where waiter.account.held > 0 {
            waiter.account.give(bytes.largest)
            for (index, waiter) in waiting.enumerated() where !waiter.taker.take().isEmpty { order.append(index) }
        }
        #expect(order == [0, 1, 2])
    }

    @Test func manySmallOperationsDoNotKeepALargeOneWaiting() {
        let bytes = OperationBytes()
        let busy = (0..<4).map { _ in bytes.account() }
        let piece = 256 * 1024
        for account in busy { while account.grow(by: piece) {} }
        let large = (account: bytes.account(), taker: Taker())
        #expect(!large.account.take(bytes.largest, orLater: large.taker))
        // Each asks for as much as it gives back, again and again, and gets less and less of it.
        var waiting: [Int: Taker] = [:]
        var rounds = 0
        while large.taker.take().isEmpty, rounds < 1000 {
            rounds += 1
            for (index, account) in busy.enumerated() where account.held > 0 {
                account.give(piece)
                if let taker = waiting[index] {
                    if !taker.take().isEmpty { waiting[index] = nil }
                } else {
                    let taker = Taker()
                    if !account.take(piece, orLater: taker) { waiting[index] = taker }
                }
            }
        }
        #expect(large.account.held == bytes.largest)
        #expect(busy.allSatisfy { $0.held > 0 })
    }

    @Test func whoWithdrawsGetsNothingAndLetsOthersPass() {
        let bytes = OperationBytes()
        let hoarders = (0..<3).map { _ in bytes.account() }
        for account in hoarders { while account.grow(by: Self.mebibyte) {} }
        let large = (account: bytes.account(), taker: Taker())
        let small = (account: bytes.account(), taker: Taker())
        #expect(!large.account.take(bytes.largest, orLater: large.taker))
        // It is behind the large one, and has only a few bytes until that has gone.
        #expect(small.account.take(Self.mebibyte, orLater: small.taker))
        #expect(!small.account.take(Self.mebibyte, orLater: small.taker))
        #expect(large.account.withdraw(large.taker))
        #expect(!large.account.withdraw(large.taker))
        #expect(small.taker.take() == [Self.mebibyte])
        #expect(large.taker.take().isEmpty && large.account.held == 0)
    }
}
