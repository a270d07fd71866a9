import DocumentModel
import DocumentStore
import EventDelivery
import WorkerProtocol
import Workers
import NIOCore

/// One run of a handler for a delivery: what it came to, and when it is really over.
///
/// The two are told apart: at the deadline the outcome is known and nothing is committed any more, but until the handler
/// has stopped the delivery is nobody else's. Lives on its invocation's loop.
final class DeliveryRun: InvocationClient, InvocationObserver {
    private enum Outcome {
        case succeeded
        case failed(DeliveryFailure)
        case stopped
    }

    private let start: DeliveryStart
    private let delivery: InvocationDelivery
    private let timeout: Int
    private let gate: FunctionGate
    private let services: InvocationServices
    private let eventLoop: any EventLoop
    private var outcome: Outcome?
    private var end: HandlerEnd?
    private var startedAt: NIODeadline?

    init(
        _ start: DeliveryStart, delivery: InvocationDelivery, timeout: Int, gate: FunctionGate,
        services: InvocationServices, eventLoop: any EventLoop
    ) {
        self.start = start
        self.delivery = delivery
        self.timeout = timeout
        self.gate = gate
        self.services = services
        self.eventLoop = eventLoop
    }

    // MARK: As the invocation's client

    func invocationSent(_ head: HTTPAnswerHead) {}

    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) { taken() }

    func invocationEnded(_ outcome: InvocationOutcome) {
        switch outcome {
        case .result: self.outcome = .succeeded
        case .failure(.stopping) where services.isStopping: self.outcome = .stopped
        case .failure(let failure):
            start.onFailure()
            self.outcome = .failed(describe(failure))
        }
        conclude()
    }

    private func describe(_ failure: InvocationFailure) -> DeliveryFailure {
        if failure == .deadlineExceeded {
            return DeliveryFailure(
                "the handler took longer than its \(timeout) s", status: failure.code.httpStatus, wasExecuted: false)
        }
        return DeliveryFailure(failure)
    }

    // MARK: As its observer

    func invocationStarted() {
        if startedAt == nil { start.onStart() }
        startedAt = eventLoop.now
    }

    func invocationOver(_ end: HandlerEnd) {
        self.end = end
        if let startedAt, gate.hasBudget {
            gate.spent(microseconds: (eventLoop.now - startedAt).nanoseconds / 1000)
        }
        conclude()
    }

    private func conclude() {
        guard let outcome, let end else { return }
        start.onEnd(result(outcome, end))
    }

    private func result(_ outcome: Outcome, _ end: HandlerEnd) -> TryEnd {
        if delivery.isDone { return .completed }
        switch (outcome, end) {
        case (.succeeded, _): return .succeeded
        case (.stopped, _), (_, .lost(.shutdown, _)): return .givenBack
        case (.failed(let failure), .lost(let end, let wasAlone)) where failure.wasExecuted:
            guard wasAlone else { return .lostInCompany("\(end)") }
            return .failed(
                DeliveryFailure(
                    "the process ended before its handler did: \(end)", status: failure.status, wasExecuted: false))
        case (.failed(let failure), .neverStarted):
            return .notStarted(
                failure.wasExecuted ? "no process could be started" : "no process was ready in \(timeout) s")
        case (.failed(let failure), _): return .failed(failure)
        }
    }
}
