/// What sends requests: the pooled client, or a test's closure.
protocol FetchTransport: Sendable {
    func send(_ request: FetchRequest) async throws -> FetchResponse
}

enum FetchTransports {
    @TaskLocal static var current: any FetchTransport = PooledTransport.shared
}

/// Whether `withFetch` answers requests here.
package var isFetchAnswered: Bool { !(FetchTransports.current is PooledTransport) }
