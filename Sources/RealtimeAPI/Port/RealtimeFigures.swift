import Sharing

/// What the port's clients have open, and what they were sent since the start.
struct RealtimeFigures: Hashable, Sendable {
    var sockets = 0
    var httpConnections = 0
    var pollingSessions = 0
    var listens = 0
    var pushes = 0
    var pushBytes = 0

    static func += (sum: inout RealtimeFigures, other: RealtimeFigures) {
        sum.sockets += other.sockets
        sum.httpConnections += other.httpConnections
        sum.pollingSessions += other.pollingSessions
        sum.listens += other.listens
        sum.pushes += other.pushes
        sum.pushBytes += other.pushBytes
    }

    /// The metrics in the Prometheus format.
    var text: String {
        var connections = MetricFamily(
            "functions_database_client_connections", "gauge", "Open connections of the database port.")
        connections.sample(["wire": "websocket"], sockets)
        connections.sample(["wire": "http"], httpConnections)
        connections.sample(["wire": "polling"], pollingSessions)
        var text = connections.text
        for (name, type, value, help) in [
            ("listens", "gauge", listens, "Listens of clients, and event streams."),
            ("pushes_total", "counter", pushes, "Changes that were sent to listens."),
            ("push_bytes_total", "counter", pushBytes, "Bytes of these changes."),
        ] {
            text += MetricFamily.single("functions_database_\(name)", type, help, value)
        }
        return text
    }
}

extension MemoryBudget {
    /// The metrics of the memory of listens in the Prometheus format.
    var listenMetrics: String {
        let (used, peak) = figures
        var text = ""
        for (name, value, help) in [
            ("listen_memory_bytes", used, "Memory of listens of connections with more than 64 KiB."),
            ("listen_memory_bytes_peak", peak, "The most of it since the start."),
        ] {
            text += MetricFamily.single("functions_database_\(name)", "gauge", help, value)
        }
        return text
    }
}
