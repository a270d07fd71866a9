import Synchronization

/// Calls back once all servers listen.
final class Readiness: Sendable {
    private let missing: Mutex<(count: Int, ports: [String: Int])>
    private let onReady: @Sendable ([String: Int]) -> Void

    init(servers: Int, onReady: @escaping @Sendable ([String: Int]) -> Void) {
        missing = Mutex((servers, [:]))
        self.onReady = onReady
    }

    /// A server listens. It counts once.
    func isRunning(_ name: String, port: Int) {
        let ports: [String: Int]? = missing.withLock { state in
            guard state.ports.updateValue(port, forKey: name) == nil else { return nil }
            state.count -= 1
            return state.count == 0 ? state.ports : nil
        }
        if let ports { onReady(ports) }
    }
}
