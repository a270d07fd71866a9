import DocumentModel
import DatabaseObservations
import Sharing
import Synchronization
import Testing
import WorkerProtocol

/// What is observed waits in bounded memory.
struct ObservationTests {
    private static let mebibyte = 1024 * 1024

    private static func change(_ bytes: Int) -> [ReferenceChange.Setting] {
        [ReferenceChange.Setting("", [UInt8](repeating: 0x31, count: bytes))]
    }

    /// The answer to the next question; nil if it has to wait.
    private static func next(_ observation: Observation) -> Result<DatabaseAnswer, DocumentError>? {
        let answer = Mutex<Result<DatabaseAnswer, DocumentError>?>(nil)
        observation.next { result in answer.withLock { $0 = result } }
        return answer.withLock { $0 }
    }

    @Test func changesWaitUntilTheyAreAskedForAndTheirMemoryIsGivenBack() {
        let budget = MemoryBudget(total: 128 * Self.mebibyte)
        let observation = Observation(budget, of: 1)
        observation.receive(Self.change(10))
        observation.receive(Self.change(20))
        #expect(budget.figures.used == 30)
        #expect(Self.next(observation) == .success(.changes(Self.change(10) + Self.change(20))))
        #expect(budget.figures.used == 0)
        #expect(Self.next(observation) == nil)
    }

    @Test func oneThatIsTooSlowEnds() throws {
        let budget = MemoryBudget(total: 128 * Self.mebibyte)
        let observation = Observation(budget, of: 1)
        observation.receive(Self.change(10 * Self.mebibyte))
        observation.receive(Self.change(7 * Self.mebibyte))
        guard case .failure(let error)? = Self.next(observation) else {
            Issue.record("it goes on")
            return
        }
        #expect(error.code == .resourceExhausted)
        #expect(budget.figures.used == 0)
        observation.receive(Self.change(1))
        #expect(budget.figures.used == 0)
    }

    /// However many observations an invocation has, something is left for others.
    @Test func allOfAnInvocationAreBoundedTogether() {
        let budget = MemoryBudget(total: 128 * Self.mebibyte)
        let own = (0..<20).map { _ in Observation(budget, of: 1) }
        for observation in own { observation.receive(Self.change(10 * Self.mebibyte)) }
        #expect(own.count { if case .success? = Self.next($0) { true } else { false } } == 4)
        for observation in own { observation.receive(Self.change(10 * Self.mebibyte)) }
        let other = Observation(budget, of: 2)
        other.receive(Self.change(10 * Self.mebibyte))
        #expect(Self.next(other) == .success(.changes(Self.change(10 * Self.mebibyte))))
        for observation in own { observation.end() }
        #expect(budget.figures.used == 0)
    }

    @Test func anObservationThatIsReleasedGivesItsMemoryBack() {
        let budget = MemoryBudget(total: 128 * Self.mebibyte)
        do {
            let observation = Observation(budget, of: 1)
            observation.receive(Self.change(10))
        }
        #expect(budget.figures.used == 0)
    }

    @Test func theirNumberIsBoundedUntilTheyEnd() throws {
        let budget = MemoryBudget(total: Self.mebibyte)
        let all = Observations(total: 2)
        let first = try all.add(Observation(budget, of: 1), of: 1)
        let second = Observation(budget, of: 2)
        _ = try all.add(second, of: 2)
        #expect(throws: DocumentError.self) { try all.add(Observation(budget, of: 1), of: 1) }
        all.endAll(of: 2)
        guard case .failure? = Self.next(second) else {
            Issue.record("it goes on")
            return
        }
        #expect(!all.has(of: 2) && all.has(of: 1))
        all.end(first, of: 1)
        #expect(!all.has(of: 1))
        let answer = Mutex<Result<DatabaseAnswer, DocumentError>?>(nil)
        all.next(first, of: 1) { result in answer.withLock { $0 = result } }
        #expect(
            answer.withLock { $0 } == .failure(DocumentError(.failedPrecondition, "the observation has ended")))
    }
}
