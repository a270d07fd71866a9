import WorkerProtocol
@testable import Gateway
import HostTesting
import Logging
import NIOCore
import Testing
import Workers

struct RefusalLogTests {
    private let start = NIODeadline.uptimeNanoseconds(1)

    private func address(_ number: Int) -> RefusedCaller? {
        IPAddress("10.\(number >> 16).\(number >> 8 & 255).\(number & 255)").map { .address($0) }
    }

    @Test func eachCallerAndKindHasItsLines() {
        var log = RefusalLog()
        func admits(_ kind: String, _ caller: RefusedCaller?, after seconds: Int64 = 0) -> Bool {
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

    @Test func whatIsLeftOutIsCountedAndThenLogged() {
        let log = LogLines()
        let refusals = RefusalLogger(log.logger)
        func refuse(_ kind: String? = nil, after seconds: Int64) {
            refusals.log("no", kind: kind, of: address(1), level: .info, now: start + .seconds(seconds), [:])
        }
        for second in 0..<25 { refuse(after: Int64(second)) }
        refuse("other", after: 25)
        #expect(log.all.count == RefusalLog.linesPerMinute + 1)
        refusals.logLeftOut(now: start + .seconds(61))
        #expect(log.all.last == "more requests were refused than are logged kind=no left.out=15")
        refuse(after: 62)
        #expect(log.all.last == "no")
    }
}
