package import FunctionManifest

/// How long a delivery is kept that can't be handled, because its function is paused, can't be started, or isn't served.
package enum DeliveryAge {
    /// Seconds. Longer than a weekend, so that operators notice.
    package static let whereGone = 7 * 86_400.0

    /// Seconds: the author's maximum age of events; a day for events without retries; a week for tasks and jobs, which are
    /// useful however late they run.
    package static func wherePaused(_ trigger: TriggerManifest) -> Double {
        switch trigger {
        case .document(let trigger): trigger.retry.map { Double($0.maxAgeSeconds) } ?? 86_400
        case .reference(let trigger): trigger.retry.map { Double($0.maxAgeSeconds) } ?? 86_400
        case .event(let trigger): trigger.retry.map { Double($0.maxAgeSeconds) } ?? 86_400
        case .task, .schedule, .callable, .http, .blocking: whereGone
        }
    }
}
