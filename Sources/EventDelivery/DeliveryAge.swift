package import FunctionManifest

/// How long a delivery is kept that can't be worked on: its function is paused, can't be started, or isn't served any more.
package enum DeliveryAge {
    /// Seconds. Longer than a weekend, since somebody has to notice.
    package static let whereGone = 7 * 86_400.0

    /// Seconds. What an author said of the age of events holds; an event that is never tried again is kept for a day,
    /// and tasks and jobs, which are wanted however late they run, for a week.
    package static func wherePaused(_ trigger: TriggerManifest) -> Double {
        switch trigger {
        case .document(let trigger): trigger.retry.map { Double($0.maxAgeSeconds) } ?? 86_400
        case .event(let trigger): trigger.retry.map { Double($0.maxAgeSeconds) } ?? 86_400
        case .task, .schedule, .callable, .http: whereGone
        }
    }
}
