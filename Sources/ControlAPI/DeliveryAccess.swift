import EventDispatch
package import ControlProtocol
import DocumentModel
import DocumentStore
package import HostConfiguration

/// Runs delivery commands: through the host that runs on the data directory. Commands that only read use the store
/// itself if no host runs.
package struct DeliveryAccess: Sendable {
    private let configuration: HostConfiguration
    private let host: HostControl

    package init(_ configuration: HostConfiguration) {
        self.configuration = configuration
        host = HostControl(configuration.data)
    }

    /// - Parameters:
    ///   - cursor: the `next` of the previous page; nil for the first page.
    ///   - limit: 1 … 1000.
    /// - Throws: an error whose description is a sentence for the operator; ``NoRunningHost`` if there is no data
    ///   directory either.
    package func list(_ filter: DeliveryFilter, after cursor: String?, limit: Int) async throws -> DeliveryListing {
        var request = ControlRequest(DeliveriesTopic.name, "list")
        filter.add(to: &request)
        request.add("after", cursor)
        request.add("limit", "\(limit)")
        return try await read(request) { try await $0.list(filter, after: cursor, limit: limit) }
    }

    package func show(function: String, event: String) async throws -> DeliveryDetails {
        guard let id = EventID(event) else {
            throw DocumentError.invalidArgument("\"\(event)\" is not an event ID; see \"deliveries list\"")
        }
        return try await read(request("show", function, event)) {
            try await $0.show(DeliveryID(event: id, function: function))
        }
    }

    package func statistics() async throws -> DeliveryStatistics {
        try await read(ControlRequest(DeliveriesTopic.name, "stats")) {
            DeliveryStatistics(try await $0.counts(), now: Timestamp.wallClock())
        }
    }

    package func perform(_ action: DeliveryService.Action, function: String, event: String) async throws
        -> DeliveryChange
    {
        try await host.ask(request(action.rawValue, function, event), as: DeliveryChange.self)
    }

    package func perform(_ action: DeliveryService.Action, _ filter: DeliveryFilter, after cursor: String?) async throws
        -> DeliveryChange
    {
        var request = ControlRequest(DeliveriesTopic.name, action.rawValue)
        filter.add(to: &request)
        request.add("after", cursor)
        return try await host.ask(request, as: DeliveryChange.self)
    }

    private func request(_ verb: String, _ function: String, _ event: String) -> ControlRequest {
        var request = ControlRequest(DeliveriesTopic.name, verb)
        request.add("function", function)
        request.add("event", event)
        return request
    }

    private func read<Answer: Decodable>(
        _ request: ControlRequest, offline: (DeliveryService) async throws -> Answer
    ) async throws -> Answer {
        try await StoppedStore.answer(request, configuration) { store in
            try await offline(
                DeliveryService(
                    store, database: DatabaseID(project: configuration.project), now: Timestamp.wallClock))
        }
    }
}
