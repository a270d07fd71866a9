@testable import Gateway
import NIOCore
import Testing
import Workers

struct RefusalLogTests {
    private let start = NIODeadline.uptimeNanoseconds(1)

    private func address(_ number: Int) -> IPAddress? {
        IPAddress("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)")
    }

    @Test func eachCallerAndKindHasItsLines() {
        var log = RefusalLog()
        func admits(_ kind: String, _ caller: IPAddress?, after seconds: Int64 = 0) -> Bool {
            log.admits(kind, of: caller, now: start + .seconds(seconds))
        }
        for _ in 0..<RefusalLog.linesPerMinute {
            #expect(admits("a", address(1)))
            #expect(admits("b", address(1)))
            #expect(admits("a", address(2)))
        }
        #expect(!admits("a", address(1), after: 59))
        #expect(admits("a", nil))
        let early = log.takeLeftOut(now: start + .seconds(59))
        #expect(early.isEmpty)
        let leftOut = log.takeLeftOut(now: start + .minutes(1))
        #expect(leftOut.map(\.count) == [1])
        #expect(leftOut.first?.subject == RefusalLog.Subject(kind: "a", caller: address(1)))
        #expect(admits("a", address(1), after: 60))
    }

    /// Callers are countless; what is kept of them isn't.
    @Test func callersBeyondTheBoundShareTheirLines() {
        var log = RefusalLog()
        let count = RefusalLog.maxSubjects + 100
        let admitted = (0..<count).count { log.admits("a", of: address($0), now: start) }
        #expect(admitted == RefusalLog.maxSubjects + RefusalLog.linesPerMinute)
        let leftOut = log.takeLeftOut(now: start + .minutes(1)).map(\.count)
        #expect(leftOut == [100 - RefusalLog.linesPerMinute])
    }
}
