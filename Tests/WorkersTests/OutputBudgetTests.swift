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
        #expect(budget.read(OutputBudget.bytesPerSecond - 1, lines: 0, now: start + .milliseconds(300)) == nil)
        #expect(budget.read(1, lines: 0, now: start + .milliseconds(300)) == .milliseconds(700))
        #expect(budget.read(1, lines: 0, now: start + .milliseconds(999)) == .milliseconds(1))
        #expect(budget.read(1, lines: 0, now: start + .seconds(1)) == nil)
        // Lines and bytes are of the same second.
        #expect(budget.take(now: start + .milliseconds(1999)) == .write)
        #expect(
            budget.read(OutputBudget.bytesPerSecond, lines: 0, now: start + .milliseconds(1999)) == .milliseconds(1))
    }

    /// Each empty line costs as much as some bytes, and all that was read at once is waited for.
    @Test func manyShortLinesAreReadSlowly() {
        var budget = OutputBudget(now: start)
        let count = OutputBudget.bytesPerSecond / 4
        let pause = budget.read(count, lines: count, now: start + .milliseconds(300))
        #expect(pause == .milliseconds(7700))
    }

    /// A second has no more lines than fit in a mebibyte, either.
    @Test func loggedLinesHaveBytes() {
        var budget = OutputBudget(now: start)
        for _ in 0..<4 { #expect(budget.take(OutputBudget.bytesPerSecond / 4, now: start) == .write) }
        #expect(budget.take(1, now: start) == .drop(isFirst: true))
        #expect(budget.take(1, now: start + .seconds(1)) == .write)
    }

    /// A frame costs something even if it is empty.
    @Test func framesThatAreDroppedAreReadSlowly() {
        var budget = OutputBudget(now: start)
        #expect(budget.waste(OutputBudget.wastePerSecond - 65, now: start + .milliseconds(300)) == nil)
        #expect(budget.waste(0, now: start + .milliseconds(300)) == .milliseconds(700))
        #expect(budget.waste(0, now: start + .seconds(1)) == nil)
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
