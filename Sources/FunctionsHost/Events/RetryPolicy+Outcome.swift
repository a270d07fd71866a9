import DocumentModel
import DocumentStore
import WorkerProtocol

extension RetryPolicy {
    /// - Parameters:
    ///   - delivery: as it was before the try.
    ///   - began: when the try began.
    func outcome(
        of delivery: Delivery, _ failure: DeliveryFailure, began: Timestamp, now: Timestamp
    ) -> DeliveryOutcome {
        let verdict = verdict(
            afterFailures: delivery.tries + 1, event: delivery.created, firstTry: delivery.firstTry ?? began, now: now)
        return switch verdict {
        case .retry(let due): .retry(at: due, failure)
        case .dead: .dead(failure)
        case .dropped: .dropped(failure)
        }
    }
}
