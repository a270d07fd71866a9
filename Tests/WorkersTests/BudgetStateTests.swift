import DocumentModel
@testable import Workers
@testable import HostConfiguration
import Synchronization
import Testing

@Suite struct BudgetStateTests {
    private let noon = Timestamp(seconds: 1_700_006_400 + 43_200, nanoseconds: 0)

    private func budget(
        invocations: Int? = nil, seconds: Int? = nil, warnAt: Double = 0.8
    ) -> FunctionBudget {
        var budget = FunctionBudget()
        (budget.invocationsPerDay, budget.computeSecondsPerDay, budget.warnAt) = (invocations, seconds, warnAt)
        return budget
    }

    @Test func invocationsWarnOnceThenEnd() {
        var state = BudgetState(budget(invocations: 5), now: noon)
        var actions: [[BudgetState.Action]] = []
        var admitted: [Bool] = []
        for _ in 1...7 {
            let answer = state.admit(now: noon)
            admitted.append(answer.isAdmitted)
            actions.append(answer.actions)
        }
        #expect(admitted == [true, true, true, true, true, false, false])
        #expect(
            actions == [
                [], [], [], [.warn(.init(kind: .invocations, used: 4, limit: 5))],
                [.pause(.init(kind: .invocations, used: 5, limit: 5))], [], [],
            ])
    }

    @Test func computeTimeWarnsThenEnds() {
        var state = BudgetState(budget(seconds: 10, warnAt: 0.5), now: noon)
        #expect(state.spent(microseconds: 4_900_000, now: noon) == [])
        #expect(
            state.spent(microseconds: 200_000, now: noon)
                == [.warn(.init(kind: .computeSeconds, used: 5, limit: 10))])
        #expect(state.spent(microseconds: 100_000, now: noon) == [])
        #expect(
            state.spent(microseconds: 60_000_000, now: noon)
                == [.pause(.init(kind: .computeSeconds, used: 65, limit: 10))])
        #expect(state.admit(now: noon).isAdmitted == false)
    }

    @Test func aNewDayBeginsAfresh() {
        var state = BudgetState(budget(invocations: 1), now: noon)
        #expect(state.admit(now: noon).isAdmitted == true)
        #expect(state.admit(now: noon.after(seconds: 43_199)).isAdmitted == false)
        let next = noon.after(seconds: 43_200)
        #expect(state.refresh(now: next) == [.resume])
        #expect(state.admit(now: next).isAdmitted == true)
        // The clock is put back over midnight: the new day's use still counts.
        #expect(state.admit(now: noon).isAdmitted == false)
    }

    /// The clock showed a day of next year, and was put right.
    @Test func aDayThatNeverWasIsNotWaitedFor() {
        let wrong = noon.after(seconds: 400 * 86_400)
        var state = BudgetState(budget(invocations: 1), now: wrong)
        #expect(state.admit(now: wrong).isAdmitted)
        #expect(state.refresh(now: noon) == [.resume])
        #expect(state.admit(now: noon).isAdmitted)
        #expect(!state.admit(now: noon).isAdmitted)
    }

    @Test func whatTheOperatorLiftsStaysLiftedForTheDay() {
        var state = BudgetState(budget(invocations: 1), now: noon)
        _ = state.admit(now: noon)
        state.lift()
        for _ in 1...5 { #expect(state.admit(now: noon).isAdmitted == true) }
        let next = noon.after(seconds: 86_400)
        #expect(state.admit(now: next).isAdmitted == true)
        #expect(state.admit(now: next).isAdmitted == false)
    }

    @Test func whatIsGivenBackLetsTheFunctionGoOnAndIsReportedOnce() {
        var state = BudgetState(budget(invocations: 2), now: noon)
        _ = state.admit(now: noon)
        #expect(state.admit(now: noon).actions == [.pause(.init(kind: .invocations, used: 2, limit: 2))])
        #expect(state.refund(admittedAt: noon) == [.resume])
        #expect(state.refund(admittedAt: noon) == [])
        for _ in 1...2 {
            let admission = state.admit(now: noon)
            #expect(admission.isAdmitted)
            #expect(admission.actions == [])
        }
        #expect(!state.admit(now: noon).isAdmitted)
    }

    /// A call may wait for a worker over midnight.
    @Test func whatIsReturnedTheNextDayCountedForTheDayBefore() {
        var state = BudgetState(budget(invocations: 2), now: noon)
        _ = state.admit(now: noon)
        let next = noon.after(seconds: 86_400)
        #expect(state.admit(now: next).isAdmitted)
        #expect(state.refund(admittedAt: noon) == [])
        #expect(state.invocations == 1)
        #expect(state.refund(admittedAt: next) == [])
        #expect(state.invocations == 0)
    }

    @Test func aGateKnowsWhenAReturnedInvocationWasAdmitted() {
        let time = Mutex(noon)
        let gate = FunctionGate(
            budget: BudgetState(budget(invocations: 2), now: noon), now: { time.withLock { $0 } })
        #expect(gate.admit() == nil)
        time.withLock { $0 = noon.after(seconds: 86_400) }
        #expect([gate.admit(), gate.admit()] == [nil, nil])
        gate.refund(age: 86_400_000_000)
        #expect(gate.admit() == .budgetUsedUp)
        gate.refund()
        #expect(gate.admit() == nil)
    }

    @Test func aRecordCarriesTheDayOn() throws {
        var state = BudgetState(budget(invocations: 5), now: noon)
        for _ in 1...4 { _ = state.admit(now: noon) }
        var next = try BudgetState(budget(invocations: 5), record: state.record)
        #expect(next == state)
        // Warned before, so not again.
        #expect(next.admit(now: noon).actions == [.pause(.init(kind: .invocations, used: 5, limit: 5))])
        let raised = try BudgetState(budget(invocations: 10), record: next.record)
        #expect(!raised.isOver)
        let lowered = try BudgetState(budget(invocations: 3), record: state.record)
        #expect(lowered.isOver)
        #expect(throws: DecodingFailure.self) { try BudgetState(budget(invocations: 3), record: [9]) }
    }

    @Test(
        arguments: [
            (.min, 0, 0), (.max, 0, 0), (0, 0, .max), (0, 0, -1), (0, .max, 0), (0, 1 << 63, 0),
        ] as [(Int64, UInt64, Int64)])
    func aRecordWithNumbersOfNoDayIsRefused(day: Int64, invocations: UInt64, microseconds: Int64) {
        var writer = ByteWriter()
        writer.write(byte: 1)
        writer.write(signed: day)
        writer.write(varint: invocations)
        writer.write(signed: microseconds)
        writer.write(byte: 0)
        #expect(throws: DecodingFailure.self) { try BudgetState(budget(invocations: 3), record: writer.bytes) }
    }
}
