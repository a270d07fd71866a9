import Foundation
import NIOCore

/// A client of the Realtime Database's REST API.
struct RealtimeREST: Sendable {
    static let namespace = "\(HostProcess.project)-default-rtdb"

    let requests: Requests

    /// - Parameter token: nil for a client that isn't signed in.
    init(port: Int, token: String? = nil) { requests = Requests(port: port, token: token) }

    /// - Parameter idToken: nil for none.
    func get(_ path: String, idToken: String? = nil) -> ByteBuffer {
        requests.get("/\(path).json" + (idToken.map { "?auth=\($0)" } ?? ""))
    }

    func put(_ path: String, _ json: String) -> ByteBuffer { requests.put("/\(path).json", json) }

    /// Sends bodies of updates, and returns once all are stored.
    ///
    /// - Parameter bodies: made one after the other, so that few of them are in memory.
    func update(_ path: String, _ count: Int, _ body: @escaping @Sendable (Int) -> String) async throws {
        try await Load.runToEnd([UpdateCaller(rest: self, path: path, count: count, body: body)], to: requests.port)
            .check()
    }

    /// Reads a value.
    func value(_ path: String) async throws -> String {
        let answer = try await Load.ask(get(path), of: requests.port)
        guard answer.status == 200 else { throw LoadError("\(path): \(answer.excerpt)") }
        return String(buffer: answer.body)
    }
}

/// Sends one update after the other.
private struct UpdateCaller: Caller {
    let rest: RealtimeREST
    let path: String
    let count: Int
    let body: @Sendable (Int) -> String
    private var index = 0

    init(rest: RealtimeREST, path: String, count: Int, body: @escaping @Sendable (Int) -> String) {
        self.rest = rest
        self.path = path
        self.count = count
        self.body = body
    }

    mutating func next() -> ByteBuffer? {
        guard index < count else { return nil }
        defer { index += 1 }
        return rest.requests.patch("/\(path).json?print=silent&writeSizeLimit=unlimited", body(index))
    }

    mutating func received(_ answer: LoadResponse) -> Step { answer.status == 204 ? .done : .failed(answer.excerpt) }
}
