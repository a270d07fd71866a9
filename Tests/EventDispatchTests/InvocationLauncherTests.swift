import Gateway
import TestSupport
import CommitPipeline
import DocumentModel
import DocumentStore
@testable import EventDispatch
import FunctionManifest
import Gateway
import HostTesting
import NIOCore
import Synchronization
import TestSupport
import Testing
import WorkerProtocol
import Workers
import WorkerTesting

/// How attempts at deliveries end, with scripted workers.
@Suite(.endsHangs) struct InvocationLauncherTests {
    /// An attempt at a delivery, and how it ended.
    private final class Attempt: Sendable {
        private struct State {
            var isStarted = false
            var hasFailed = false
            var ends: [AttemptEnd] = []
            var executions: [AttemptExecution] = []
        }

        private let state = Mutex(State())

        func start(_ stored: StoredDelivery, _ lease: DeliveryLease) -> DeliveryStart {
            DeliveryStart(
                stored: stored, lease: lease, onStart: { self.state.withLock { $0.isStarted = true } },
                onFailure: { self.state.withLock { $0.hasFailed = true } },
                onEnd: { end, execution in
                    self.state.withLock {
                        $0.ends.append(end)
                        $0.executions.append(execution)
                    }
                })
        }

        var isStarted: Bool { state.withLock { $0.isStarted } }
        /// Whether nothing that its handler commits from now on counts.
        var hasFailed: Bool { state.withLock { $0.hasFailed } }
        var ends: [AttemptEnd] { state.withLock { $0.ends } }
        var executions: [AttemptExecution] { state.withLock { $0.executions } }
    }

    private static func function(concurrency: Int = 80, timeoutSeconds: Int = 60) -> FunctionManifest {
        var manifest = FunctionManifest.created("f", concurrency: concurrency)
        manifest.timeoutSeconds = timeoutSeconds
        return manifest
    }

    /// Runs a test with `count` deliveries of the function, each launched in a worker.
    private func with(
        _ count: Int, _ function: FunctionManifest = function(), budget: FunctionBudget? = nil,
        start: ScriptedProcesses.Start = .ready, _ body: (GatewayRing, [Attempt]) throws -> Void
    ) async throws {
        let events = try await DispatcherRing([function], begins: false)
        for number in 1...count { try await events.set("items/\(number)") }
        let due = try await events.store.outbox.dueDeliveries(
            of: "f", at: events.clock.timestamp(), except: [], limit: count, maxBytes: 1 << 20)
        try #require(due.deliveries.count == count)
        try GatewayRing.with([function], budgets: budget.map { ["f": $0] } ?? [:]) { ring in
            ring.processes.start = start
            let served = try #require(ring.function("f"))
            let launcher = InvocationLauncher(served, loops: [ring.gateway.invocations])
            let attempts = due.deliveries.map { _ in Attempt() }
            launcher.launch(
                try zip(attempts, due.deliveries).map { attempt, stored in
                    attempt.start(stored, try #require(events.store.outbox.lease(stored.delivery.id)))
                })
            ring.run()
            try body(ring, attempts)
        }
    }

    @Test func aHandlerThatReturnsHasSucceeded() async throws {
        try await with(1) { ring, attempts in
            let invocation = try #require(ring.next())
            #expect(attempts[0].isStarted)
            #expect(attempts[0].ends.isEmpty)
            invocation.end("")
            ring.run()
            #expect(attempts[0].ends == [.succeeded])
        }
    }

    @Test func aHandlersFailureIsTheAttempts() async throws {
        try await with(1) { ring, attempts in
            try #require(ring.next()).fail(.aborted, "it lost")
            ring.run()
            guard case .failed(let failure)? = attempts[0].ends.first else {
                Issue.record("it ended as \(attempts[0].ends)")
                return
            }
            #expect(failure.message.contains("it lost"))
            #expect(failure.status == 409)
        }
    }

    /// The log's line about the attempt has them: the worker logs none.
    @Test func anAttemptsEndCarriesItsExecutionAndItsError() async throws {
        try await with(1) { ring, attempts in
            let invocation = try #require(ring.next())
            let failure = InvocationFailure(code: .internal, message: "it broke", errorType: "Broken")
            invocation.worker.send(.failure, invocation.id) { failure.write(to: &$0) }
            ring.run()
            #expect(attempts[0].executions == [AttemptExecution(id: invocation.head.executionID, failure: failure)])
        }
        // What it throws after its deadline isn't the reason of the failure.
        try await with(1, Self.function(timeoutSeconds: 2)) { ring, attempts in
            let invocation = try #require(ring.next())
            ring.advance(.milliseconds(2_010))
            invocation.fail(.cancelled, "CancellationError()")
            ring.run()
            #expect(attempts[0].executions == [AttemptExecution(id: invocation.head.executionID)])
        }
    }

    @Test func aPermanentFailureEndsAllAttempts() async throws {
        try await with(1) { ring, attempts in
            try #require(ring.next()).fail(.internal, "no customer", isPermanent: true)
            ring.run()
            #expect(attempts[0].ends == [.failedForGood(DeliveryFailure("INTERNAL: no customer", status: 500))])
        }
    }

    /// What it failed of is known at the deadline; that it is over only once its handler has stopped.
    @Test func aHandlerPastItsDeadlineHasFailedButIsNotOver() async throws {
        try await with(1, Self.function(timeoutSeconds: 2)) { ring, attempts in
            let invocation = try #require(ring.next())
            ring.advance(.milliseconds(2_010))
            #expect(invocation.cancellation == .deadline)
            #expect(attempts[0].hasFailed)
            #expect(attempts[0].ends.isEmpty)
            invocation.end("")
            ring.run()
            guard case .failed(let failure)? = attempts[0].ends.first else {
                Issue.record("it ended as \(attempts[0].ends)")
                return
            }
            #expect(failure.message == "the handler took longer than its 2 s")
        }
    }

    @Test func aProcessThatEndsAloneHasFailedItsEvent() async throws {
        try await with(1) { ring, attempts in
            try #require(ring.worker).crash(signal: 9)
            ring.run()
            guard case .failed(let failure)? = attempts[0].ends.first else {
                Issue.record("it ended as \(attempts[0].ends)")
                return
            }
            #expect(failure.message == "the process ended before its handler did: crash, signal 9")
        }
    }

    @Test func anEventWhoseProcessTheHostsShutdownKillsHasNotFailed() async throws {
        try await with(1) { ring, attempts in
            try #require(ring.worker).shutDown()
            ring.run()
            #expect(attempts[0].ends == [.returned])
        }
    }

    @Test func ofSeveralInALostProcessNoneIsBlamed() async throws {
        try await with(2) { ring, attempts in
            try #require(ring.worker).crash(signal: 9)
            ring.run()
            #expect(attempts.map(\.ends) == [[.lostInCompany("crash, signal 9")], [.lostInCompany("crash, signal 9")]])
        }
    }

    @Test func eventsThatCouldNotStartGiveTheirPlacesInTheBudgetBack() async throws {
        var budget = FunctionBudget()
        budget.invocationsPerDay = 2
        try await with(2, budget: budget, start: .fails) { ring, attempts in
            ring.advance(.seconds(60))
            #expect(attempts.allSatisfy { !$0.isStarted })
            #expect(attempts.map(\.ends) == Array(repeating: [.notStarted("no process could be started")], count: 2))
            let gate = try #require(ring.function("f")).gate
            #expect([gate.admit(), gate.admit()] == [nil, nil])
            #expect(gate.admit() == .budgetUsedUp)
        }
    }

    @Test func anEventThatWaitedTooLongForAProcessWasNotStarted() async throws {
        try await with(1, Self.function(timeoutSeconds: 5), start: .silent) { ring, attempts in
            ring.advance(.milliseconds(5_010))
            #expect(attempts[0].ends == [.notStarted("no process was ready in 5 s")])
        }
    }

    /// The other release can run it, and needn't wait for a process that may never be ready.
    @Test func anEventThatAReplacedReleaseHasNotBegunIsDisplaced() async throws {
        try await with(2, start: .silent) { ring, attempts in
            try #require(ring.function("f")).pool.drain()
            ring.run()
            #expect(attempts.allSatisfy { !$0.isStarted })
            #expect(attempts.map(\.ends) == [[.displaced], [.displaced]])
        }
    }

    /// The chain ends loops, and the lease keeps an attempt that is over from committing.
    @Test func aHandlersOperationsCarryItsChainAndItsLease() async throws {
        try await with(1) { ring, attempts in
            let invocation = try #require(ring.next())
            invocation.request(.get([try DocumentPath("items/1")], .strong))
            ring.run()
            let operation = try #require(ring.documents.next())
            #expect(operation.context.chain == ["f"])
            #expect(operation.context.delivery?.id.function == "f")
            #expect(operation.context.owner == invocation.id)
        }
    }

    /// The commit that ends a delivery counts, even if the process is lost before it is answered.
    @Test(arguments: [false, true]) func aDeliveryThatItsHandlerHasEndedIsCompleted(isLost: Bool) async throws {
        try await with(1) { ring, attempts in
            let invocation = try #require(ring.next())
            invocation.request(.commit([], transaction: nil, completing: [], effects: []))
            ring.run()
            let commit = try #require(ring.documents.next())
            if isLost { try #require(ring.worker).closeLink() }
            ring.run()
            commit.answer(
                .committed(CommitResult(commitTime: Timestamp(seconds: 1, nanoseconds: 0), writeResults: [])))
            ring.run()
            #expect(attempts[0].ends == (isLost ? [] : [.completed]))
            try #require(ring.worker).crash(signal: 9)
            ring.run()
            #expect(attempts[0].ends == [.completed])
        }
    }

    @Test func whatABudgetRefusesIsNotStarted() async throws {
        var budget = FunctionBudget()
        budget.invocationsPerDay = 1
        try await with(2, budget: budget) { ring, attempts in
            #expect(attempts.map(\.isStarted) == [true, false])
            #expect(attempts.map(\.ends) == [[], [.refused]])
        }
    }
}
