import ControlProtocol
import DocumentModel
import DocumentStore
package import EventDispatch
package import Hummingbird

/// The `deliveries` commands on the running host.
package struct DeliveriesTopic: ControlTopic {
    static let name = "deliveries"
    static let maxPage = 1000

    package let deliveries: DeliveryService
    package let events: EventService

    package init(deliveries: DeliveryService, events: EventService) {
        self.deliveries = deliveries
        self.events = events
    }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("deliveries/list") { parameters in
            try await deliveries.list(
                try DeliveryFilter(parameters), after: parameters["after"],
                limit: try parameters.integer("limit", in: 1...Self.maxPage) ?? Self.maxPage)
        }
        routes.answer("deliveries/show") { parameters in
            try await deliveries.show(try DeliveryID(parameters))
        }
        for action in DeliveryService.Action.allCases {
            routes.answer("deliveries/\(action.rawValue)") { parameters in
                if parameters["event"] != nil {
                    return try await deliveries.perform(action, try DeliveryID(parameters))
                }
                return try await deliveries.perform(action, try DeliveryFilter(parameters), after: parameters["after"])
            }
        }
        routes.answer("deliveries/stats") { _ in
            DeliveryStatistics(try await events.metrics(), pauses: events.pausedFunctions, now: Timestamp.wallClock())
        }
    }
}

extension DeliveryID {
    /// - Throws: `invalidArgument` if the parameter is not an event ID.
    init(_ parameters: ControlParameters) throws(DocumentError) {
        let text = try parameters.required("event")
        guard let event = EventID(text) else {
            throw .invalidArgument("\"\(text)\" is not an event ID; see \"deliveries list\"")
        }
        self.init(event: event, function: try parameters.required("function"))
    }
}
