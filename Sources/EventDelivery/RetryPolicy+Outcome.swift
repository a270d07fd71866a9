package import DocumentModel
package import DocumentStore
import FunctionManifest

extension RetryPolicy {
    /// What becomes of a delivery whose try has failed.
    ///
    /// - Parameters:
    ///   - delivery: as it was before the try.
    ///   - began: when the try began.
    package func outcome(
        of delivery: Delivery, _ failure: DeliveryFailure, began: Timestamp, now: Timestamp
    ) -> DeliveryOutcome {
        let verdict = verdict(
            afterFailures: delivery.tries + 1, event: delivery.ageStart, firstTry: delivery.firstTry ?? began, now: now)
        return switch verdict {
        case .retry(let due): .retry(at: due, failure)
        case .dead: .dead(failure)
        case .dropped: .dropped(failure)
        }
    }
}
