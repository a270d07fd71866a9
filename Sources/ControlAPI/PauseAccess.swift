import CommitPipeline
package import ControlProtocol
import DocumentModel
import DocumentStore
import EventDelivery
import FunctionManifest
package import HostConfiguration

/// Runs the commands `pause` and `resume`: through the host that runs on the data directory, or else on the store itself, so that
/// a restored store can be paused before its host starts. Budgets are the host's affair.
package struct PauseAccess: Sendable {
    private let configuration: HostConfiguration

    package init(_ configuration: HostConfiguration) { self.configuration = configuration }

    package func list() async throws -> PauseListing { try await change("list", nil) { _, _ in nil } }

    /// - Parameter function: nil for all. Without a host it isn't known which functions there are.
    package func pause(_ function: String?) async throws -> PauseListing {
        try await change("pause", function) { name, pauses in
            if let function, !FunctionManifest.isValidName(function) {
                throw DocumentError(.notFound, "no function is named \(function)")
            }
            return pauses[name] == nil ? EventRecords.pause(of: name, since: Timestamp.wallClock()) : nil
        }
    }

    /// - Parameter function: nil for the pause of all.
    package func resume(_ function: String?) async throws -> PauseListing {
        try await change("resume", function) { name, pauses in
            guard pauses[name] == nil else { return EventRecords.pause(of: name, since: nil) }
            guard function == nil else {
                throw DocumentError(.notFound, "\(name) isn't paused by name; a budget needs a host that runs")
            }
            return nil
        }
    }

    private func change(
        _ verb: String, _ function: String?,
        _ record: (_ name: String, _ pauses: [String: Timestamp]) throws -> (name: String, value: [UInt8]?)?
    ) async throws -> PauseListing {
        var request = ControlRequest(PauseTopic.name, verb)
        request.add("function", function)
        return try await StoppedStore.answer(request, configuration) { store in
            let change = try record(function ?? EventRecords.everything, try await EventRecords.pauses(store))
            if let change { try await store.outbox.keep([change]) }
            var pauses = try await EventRecords.pauses(store)
            let everything = pauses.removeValue(forKey: EventRecords.everything)
            return PauseListing(
                everythingSince: everything?.rfc3339,
                functions: pauses.sorted { $0.key < $1.key }.map {
                    PauseReport(function: $0.key, reason: "paused", since: $0.value.rfc3339)
                })
        }
    }
}
