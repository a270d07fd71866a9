import Sharing
import Synchronization

/// What clients of the firestore port have open at the moment.
package final class ClientFigures: Sendable {
    private let httpConnections = Atomic<Int>(0)
    private let grpcConnections = Atomic<Int>(0)
    private let grpcListens = Atomic<Int>(0)
    private let webSessions = Atomic<Int>(0)

    package init() {}

    func addHTTPConnections(_ count: Int) { httpConnections.add(count, ordering: .relaxed) }
    func addGRPCConnections(_ count: Int) { grpcConnections.add(count, ordering: .relaxed) }
    func addGRPCListens(_ count: Int) { grpcListens.add(count, ordering: .relaxed) }
    func addWebSessions(_ count: Int) { webSessions.add(count, ordering: .relaxed) }

    /// The metrics in the Prometheus format.
    ///
    /// - Parameters:
    ///   - listeners: the store's listeners, those of functions included.
    ///   - unreadBytes: what waits for their readers.
    package func metrics(listeners: Int, unreadBytes: Int) -> String {
        var connections = MetricFamily(
            "functions_client_connections", "gauge", "Open connections of the firestore port.")
        connections.sample(["wire": "http"], httpConnections.load(ordering: .relaxed))
        connections.sample(["wire": "grpc"], grpcConnections.load(ordering: .relaxed))
        var text = connections.text
        for (name, value, help) in [
            ("grpc_listens", grpcListens.load(ordering: .relaxed), "Open Listen streams of gRPC clients."),
            ("webchannel_sessions", webSessions.load(ordering: .relaxed), "Open sessions of web clients."),
            ("listeners", listeners, "Targets that are listened to."),
            ("listener_bytes", unreadBytes, "Memory held by changes that wait for listeners' clients."),
        ] {
            text += MetricFamily.single("functions_client_\(name)", "gauge", help, value)
        }
        return text
    }
}
