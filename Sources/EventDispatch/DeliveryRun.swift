import CommitPipeline
import DocumentModel
import DocumentStore
import EventDelivery
import WorkerProtocol
import Workers
import NIOCore

/// One run of a handler for a delivery, on its invocation's loop.
///
/// The handler's answer and its end are two events: at the deadline the answer is known and nothing can be committed
/// any more, but the next attempt begins only when the handler has stopped.
final class DeliveryRun: InvocationClient {
    private let start: DeliveryStart
    private let delivery: InvocationDelivery
    private let timeout: Int
    private let services: InvocationServices
    private var answer: InvocationOutcome?
    private var wasStarted = false

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
    func ended(_ outcome: InvocationOutcome) { start.onEnd(end(answer ?? outcome, outcome)) }

    private func isStopping(_ answer: InvocationOutcome) -> Bool { services.isStopping && answer.failure == .stopping }

    private func end(_ answer: InvocationOutcome, _ outcome: InvocationOutcome) -> AttemptEnd {
        if delivery.isDone { return .completed }
        guard let failure = answer.failure else { return .succeeded }
        let isLate = failure == .deadlineExceeded
        switch outcome {
        case _ where isStopping(answer), .lost(.shutdown, _): return .returned
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
        case .result, .failure: return .failed(DeliveryFailure(failure))
        }
    }
}
