import Synchronization
import TestSupport

/// A host that is killed and started again on the same port, and what its clients share.
final class ConnectionsStorm: Sendable {
    private struct State {
        var isPaused = true
        /// The clients that have done something since they were last counted.
        var active: Set<String> = []
    }

    static let owner = ["Authorization": "Bearer owner"]

    let host: MortalHost
    private let state = Mutex(State())

    init(_ host: MortalHost) { self.host = host }

    /// Connects as the admin or as an unauthenticated client.
    ///
    /// - Returns: nil if the host isn't there.
    func connect(continuing former: String? = nil, asOwner: Bool = false) async throws -> DatabaseSocket? {
        do {
            let socket = try await DatabaseSocket.open(port: host.current.database.port, continuing: former)
            if asOwner { _ = try await socket.request("gauth", #"{"cred":"owner"}"#) }
            return socket
        } catch {
            try Task.checkCancellation()
            try await Bound.pause(milliseconds: 5)
            return nil
        }
    }

    /// What is stored at a path.
    func read(_ path: String, _ parameters: String = "format=export") async throws -> JSON {
        let answer = try await host.current.database.send("GET", "/\(path).json?\(parameters)", headers: Self.owner)
        guard answer.status == 200 else { throw Bound.Exceeded(description: answer.text) }
        return answer.json
    }

    // MARK: Rounds

    /// Lets clients act until the storm is paused.
    func run<Client: StormClient>(_ clients: [Client]) async throws -> [Client] {
        try await withThrowingTaskGroup(of: (Int, Client).self) { group in
            for (number, client) in clients.enumerated() {
                group.addTask {
                    var client = client
                    while !self.state.withLock({ $0.isPaused }) {
                        try Task.checkCancellation()
                        let hasActed = try await client.act()
                        if hasActed { self.state.withLock { _ = $0.active.insert(client.name) } }
                    }
                    return (number, client)
                }
            }
            return try await group.reduce(into: clients) { $0[$1.0] = $1.1 }
        }
    }

    func begin() { state.withLock { $0.isPaused = false } }

    func pause() { state.withLock { $0.isPaused = true } }

    /// Waits until a number of clients have done something from now on.
    func waitForActs(of count: Int) async throws {
        state.withLock { $0.active = [] }
        try await Bound.wait("\(count) clients act; so far: \(state.withLock { $0.active })") {
            self.state.withLock { $0.active.count >= count }
        }
    }
}

/// A client that acts until the storm is paused.
protocol StormClient: Sendable {
    var name: String { get }

    /// - Returns: whether the host has acknowledged something.
    mutating func act() async throws -> Bool
}
