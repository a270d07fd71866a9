/// Sends requests to other services. Tests replace the network here.
package protocol OutboundTransport: Sendable {
    /// - Throws: if no response arrives, or one beyond the request's limits. A response with any status is no error.
    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse
}
