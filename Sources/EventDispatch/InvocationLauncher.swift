import CommitPipeline
import DocumentModel
import DocumentStore
import EventDelivery
import FunctionManifest
import WorkerProtocol
package import Workers
import NIOCore
import Synchronization

/// Runs handlers for deliveries in the function's workers, as invocations on the gateway's loops.
package final class InvocationLauncher: DeliveryLauncher {
    private let function: ServedFunction
    private let loops: [InvocationLoop]
    private let isQueue: Bool
    private let lastLoop = Atomic(0)

    package init(_ function: ServedFunction, loops: [InvocationLoop]) {
        self.function = function
        self.loops = loops
        isQueue = if case .task = function.manifest.trigger { true } else { false }
    }

    package func launch(_ starts: [DeliveryStart]) {
        let first = lastLoop.wrappingAdd(1, ordering: .relaxed).oldValue
        for offset in 0..<min(loops.count, starts.count) {
            let loop = loops[Int(UInt(bitPattern: first &+ offset) % UInt(loops.count))]
            let share = stride(from: offset, to: starts.count, by: loops.count).map { starts[$0] }
            loop.eventLoop.execute { for start in share { self.begin(start, on: loop) } }
        }
    }

    private func begin(_ start: DeliveryStart, on loop: InvocationLoop) {
        let stored = start.stored
        let chain: [String]
        var timeout = function.manifest.timeoutSeconds
        do {
            if isQueue {
                let event = try Event(decoding: stored.event)
                chain = event.chain
                if case .task(let task) = event.content, let deadline = task.dispatchDeadline, deadline > 0 {
                    timeout = min(timeout, deadline)
                }
            } else {
                chain = try Event.chain(of: stored.event)
            }
        } catch {
            return start.onEnd(
                .failedForGood(
                    DeliveryFailure("the event can't be read: \(error)", status: 500, wasExecuted: false)),
                AttemptExecution())
        }
        let delivery = InvocationDelivery(lease: start.lease, chain: chain + [function.manifest.name])
        let run = DeliveryRun(start, delivery: delivery, timeout: timeout, services: function.pool.services)
        do throws(AdmissionRefusal) {
            let invocation = try function.admit(for: run, on: loop) {
                InvocationRequest(
                    body: .attempt(stored.attempt), timeoutSeconds: timeout, delivery: delivery,
                    onEnd: { run.ended($0) })
            }
            run.executionID = invocation.executionID
        } catch {
            start.onEnd(.refused, AttemptExecution())
        }
    }
}

extension StoredDelivery {
    fileprivate var attempt: DeliveryAttempt {
        DeliveryAttempt(
            event: event, retryCount: delivery.failedAttempts, executionCount: delivery.executions,
            previousResponse: delivery.lastStatus, retryReason: delivery.lastError)
    }
}

/// Receives the answer and the end of one attempt, on its invocation's loop.
///
/// At the deadline the attempt is answered and its lease revoked, so that its handler can't commit any more. The next
/// attempt starts only after the handler has stopped.
private final class DeliveryRun: InvocationClient {
    private let start: DeliveryStart
    private let delivery: InvocationDelivery
    private let timeout: Int
    private let services: InvocationServices
    private var answer: InvocationOutcome?
    private var wasStarted = false
    /// Nil until it is admitted.
    var executionID: String?

    init(_ start: DeliveryStart, delivery: InvocationDelivery, timeout: Int, services: InvocationServices) {
        self.start = start
        self.delivery = delivery
        self.timeout = timeout
        self.services = services
    }

    func invocationStarted() {
        if !wasStarted { start.onStart() }
        wasStarted = true
    }

    func invocationSent(_ head: HTTPAnswerHead) {}

    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) { taken() }

    func invocationAnswered(_ outcome: InvocationOutcome) {
        answer = outcome
        if outcome.failure != nil, !isStopping(outcome) { start.onFailure() }
    }

    /// No process runs the handler any more.
    func ended(_ outcome: InvocationOutcome) {
        let answer = answer ?? outcome
        var execution = AttemptExecution(id: executionID)
        if case .failure(let failure) = outcome, answer.failure == failure { execution.failure = failure }
        start.onEnd(end(answer, outcome), execution)
    }

    private func isStopping(_ answer: InvocationOutcome) -> Bool { services.isStopping && answer.failure == .stopping }

    private func end(_ answer: InvocationOutcome, _ outcome: InvocationOutcome) -> AttemptEnd {
        if delivery.isDone { return .completed }
        guard let failure = answer.failure else { return .succeeded }
        let isLate = failure == .deadlineExceeded
        switch outcome {
        case _ where isStopping(answer), .lost(.shutdown, _): return .returned
        case .notStarted where failure == .displaced: return .displaced
        case .notStarted:
            return .notStarted(isLate ? "no process was ready in \(timeout) s" : "no process could be started")
        case _ where isLate:
            return .failed(
                DeliveryFailure(
                    "the handler took longer than its \(timeout) s", status: failure.code.httpStatus,
                    wasExecuted: false))
        case .lost(let end, let wasAlone):
            guard wasAlone else { return .lostInCompany("\(end)") }
            return .failed(
                DeliveryFailure(
                    "the process ended before its handler did: \(end)", status: failure.code.httpStatus,
                    wasExecuted: false))
        case .result, .failure:
            let stored = DeliveryFailure(failure)
            return failure.isPermanent ? .failedForGood(stored) : .failed(stored)
        }
    }
}
