import Testing

/// The official emulator and a host of ours, asked the same.
struct OraclePair: Sendable {
    let emulator: OfficialEmulator
    let host: RunningHost

    static let name = "projects/demo-shop/databases/(default)/documents"
    private static let root = "/v1/" + name

    /// Runs a test on both, and sees to it that nothing of them is left.
    static func serving(_ body: (OraclePair) async throws -> Void) async throws {
        try await RunningHost.serving { host in
            let emulator = try await OfficialEmulator()
            do {
                try await body(OraclePair(emulator: emulator, host: host))
            } catch {
                try await emulator.stop()
                throw error
            }
            try await emulator.stop()
        }
    }

    /// Asks both.
    func ask(_ request: OracleRequest) async throws -> (emulator: OracleAnswer, host: OracleAnswer) {
        async let emulator = Self.send(request, to: emulator.client)
        async let host = Self.send(request, to: host.firestore)
        return (OracleAnswer(try await emulator), OracleAnswer(try await host))
    }

    private static func send(_ request: OracleRequest, to client: HTTPClient) async throws -> HTTPAnswer {
        try await client.send(
            request.method, root + request.path,
            headers: ["Authorization": "Bearer owner", "Content-Type": "application/json"], request.body)
    }

    /// Asks both each request of a case, and records where they differ otherwise than is known.
    func check(_ example: OracleCase) async throws {
        var agree = true
        for request in example.requests {
            let (emulator, host) = try await ask(request)
            guard emulator != host else { continue }
            agree = false
            if example.difference == nil {
                Issue.record(
                    """
                    \(example.name): \(request.method) \(request.path.prefix(200)) \(request.body.prefix(600))
                    emulator \(emulator.text(differingFrom: host))
                    host     \(host.text(differingFrom: emulator))
                    """)
            }
        }
        // A reason that no longer applies is removed.
        if agree, let difference = example.difference {
            Issue.record("\(example.name): they agree, though \(difference)")
        }
    }
}

/// One request of the REST API.
struct OracleRequest: Sendable {
    var method: String
    /// Below the database's documents.
    var path: String
    var body: String

    static func get(_ path: String) -> OracleRequest { OracleRequest(method: "GET", path: path, body: "") }

    static func post(_ path: String, _ body: String) -> OracleRequest {
        OracleRequest(method: "POST", path: path, body: body)
    }

    static func commit(_ writes: String...) -> OracleRequest {
        post(":commit", #"{"writes":[\#(writes.joined(separator: ","))]}"#)
    }

    static func query(_ query: String, below parent: String = "") -> OracleRequest {
        post(parent + ":runQuery", #"{"structuredQuery":\#(query)}"#)
    }

    static func aggregate(_ query: String, _ fields: String...) -> OracleRequest {
        post(
            ":runAggregationQuery",
            #"{"structuredAggregationQuery":{"structuredQuery":\#(query),"aggregations":"#
                + "[\(fields.joined(separator: ","))]}}")
    }
}

/// Requests that both are asked one after the other.
struct OracleCase: Sendable {
    var name: String
    var requests: [OracleRequest]
    /// Why the two differ, where they are known to.
    var difference: String?

    init(_ name: String, _ requests: OracleRequest..., differs difference: String? = nil) {
        self.name = name
        self.requests = requests
        self.difference = difference
    }
}
