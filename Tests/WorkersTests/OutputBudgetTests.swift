@testable import Workers
import NIOCore
import Testing

struct OutputBudgetTests {
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    @Test func aSecondHasAThousandLines() {
        var budget = OutputBudget(now: start)
        for _ in 0..<1000 { #expect(budget.take(now: start + .milliseconds(999)) == .write) }
        #expect(budget.take(now: start + .milliseconds(999)) == .drop(isFirst: true))
        #expect(budget.take(now: start + .milliseconds(999)) == .drop(isFirst: false))
        #expect(budget.take(now: start + .seconds(1)) == .write)
        #expect(budget.report() == 2)
        #expect(budget.report() == 0)
    }

    @Test func whoPrintsTooManyBytesWaitsForTheNextSecond() {
        var budget = OutputBudget(now: start)
        #expect(budget.read(OutputBudget.bytesPerSecond - 1, now: start + .milliseconds(300)) == nil)
        #expect(budget.read(1, now: start + .milliseconds(300)) == .milliseconds(700))
        #expect(budget.read(1, now: start + .milliseconds(999)) == .milliseconds(1))
        #expect(budget.read(1, now: start + .seconds(1)) == nil)
        // Lines and bytes are of the same second.
        #expect(budget.take(now: start + .milliseconds(1999)) == .write)
        #expect(budget.read(OutputBudget.bytesPerSecond, now: start + .milliseconds(1999)) == .milliseconds(1))
    }

    @Test func eachReportIsAskedForOnce() {
        var budget = OutputBudget(now: start)
        var asked = 0
        for line in 0..<10_000 where budget.take(now: start + .microseconds(Int64(line))) == .drop(isFirst: true) {
            asked += 1
        }
        #expect(asked == 1)
        #expect(budget.report() == 9000)
        #expect(budget.take(now: start + .milliseconds(500)) == .drop(isFirst: true))
    }
}
