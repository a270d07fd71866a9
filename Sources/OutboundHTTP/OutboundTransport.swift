/// Sends requests to other services. Tests replace the network here.
package protocol OutboundTransport: Sendable {
    /// - Throws: if no response arrives, or the response exceeds the request's limits. A response isn't an error,
    ///   whatever its status.
    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse
}
