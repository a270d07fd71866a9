import Sharing
import Synchronization

/// How many requests of a service had valid App Check tokens.
package final class AppCheckFigures: Sendable {
    package let service: String
    private let valid = Atomic(0)
    private let invalid = Atomic(0)
    private let missing = Atomic(0)
    private let unavailable = Atomic(0)

    /// - Parameter service: `functions`, `firestore`, `database` or `auth`.
    package init(service: String) { self.service = service }

    package func count(_ verdict: AppCheckGate.Verdict) {
        switch verdict {
        case .valid: valid.add(1, ordering: .relaxed)
        case .invalid: invalid.add(1, ordering: .relaxed)
        case .missing: missing.add(1, ordering: .relaxed)
        case .unavailable: unavailable.add(1, ordering: .relaxed)
        }
    }

    private func number(_ verdict: AppCheckGate.Verdict) -> Int {
        switch verdict {
        case .valid: valid.load(ordering: .relaxed)
        case .invalid: invalid.load(ordering: .relaxed)
        case .missing: missing.load(ordering: .relaxed)
        case .unavailable: unavailable.load(ordering: .relaxed)
        }
    }

    /// In the Prometheus format.
    package static func metrics(_ services: [AppCheckFigures]) -> String {
        guard !services.isEmpty else { return "" }
        var requests = MetricFamily(
            "functions_app_check_requests_total", "counter", "Requests of clients by their App Check token.")
        for figures in services {
            for verdict in AppCheckGate.Verdict.allCases {
                requests.sample(["service": figures.service, "token": "\(verdict)"], figures.number(verdict))
            }
        }
        return requests.text
    }
}
