package import WorkerProtocol
package import CommitPipeline
package import DocumentModel
import DocumentStore
import FunctionManifest

extension RetryPolicy {
    /// The outcome of a delivery after a failed attempt.
    ///
    /// - Parameters:
    ///   - delivery: The delivery before the attempt.
    ///   - began: When the attempt began.
    package func outcome(
        of delivery: Delivery, _ failure: DeliveryFailure, began: Timestamp, now: Timestamp
    ) -> DeliveryOutcome {
        // A time that is still to come is that of a clock that was ahead, and would prolong the retries.
        let firstAttempt = min(delivery.firstAttempt ?? began, began)
        let event = delivery.ageStart <= began ? delivery.ageStart : firstAttempt
        let verdict = verdict(
            afterFailures: delivery.failedAttempts + 1, event: event, firstAttempt: firstAttempt, now: now)
        return switch verdict {
        case .retry(let due): .retry(at: due, failure)
        case .dead: .dead(failure)
        case .dropped: .dropped(failure)
        }
    }
}

extension DeliveryFailure {
    /// An attempt that the handler failed, as stored with its delivery.
    package init(_ failure: InvocationFailure) {
        self.init("\(failure.code.wireName): \(failure.message)", status: failure.code.httpStatus)
    }
}
