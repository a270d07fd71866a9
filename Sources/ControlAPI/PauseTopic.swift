import ControlProtocol
import DocumentModel
package import EventDispatch
package import Hummingbird

/// The commands `pause` and `resume` on the running host.
package struct PauseTopic: ControlTopic {
    static let name = "pauses"

    package let events: EventService

    package init(events: EventService) {
        self.events = events
    }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
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
