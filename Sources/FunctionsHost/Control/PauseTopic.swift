import DocumentModel
import Hummingbird

/// The commands `pause` and `resume` on the running host.
struct PauseTopic: ControlTopic {
    static let name = "pauses"

    let events: EventService

    func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("pauses/list") { _ in listing }
        routes.answer("pauses/pause") { parameters in
            try await events.pause(parameters["function"])
            return listing
        }
        routes.answer("pauses/resume") { parameters in
            try await events.resume(parameters["function"])
            return listing
        }
    }

    private var listing: PauseListing {
        PauseListing(
            everythingSince: events.pausedSince?.rfc3339,
            functions: events.pausedFunctions.map {
                PauseReport(function: $0.function, reason: $0.reason.rawValue, since: $0.since?.rfc3339)
            })
    }
}

/// That nothing of a function is started.
package struct PauseReport: Codable, Hashable, Sendable {
    package var function: String
    /// `paused`, `everythingPaused` or `budgetUsedUp`.
    package var reason: String
    package var since: String?
}

package struct PauseListing: Codable, Hashable, Sendable {
    /// Since when everything is paused; nil where it isn't.
    package var everythingSince: String?
    package var functions: [PauseReport]
}
