package import OutboundHTTP

/// Posts JSON to the operator's URL. Only the status of the response counts.
package struct WebhookClient: Sendable {
    private static let limits = OutboundLimits(maxBytes: 64 * 1024, silence: .seconds(10), whole: .seconds(30))

    private let address: String
    private let transport: any OutboundTransport

    package init(address: String, transport: any OutboundTransport = OutboundClient()) {
        self.address = address
        self.transport = transport
    }

    /// - Throws: if the URL can't be reached, is silent for 10 seconds, or returns a status other than 200 to 299.
    package func post(_ body: [UInt8]) async throws(WebhookError) {
        let headers = ["Content-Type": "application/json", "User-Agent": "functions-host"]
        let response: OutboundResponse
        do throws(OutboundError) {
            response = try await transport.send(
                OutboundRequest(to: address, headers: headers, body: body, limits: Self.limits, need: .status))
        } catch {
            throw WebhookError(message: "the URL can't be reached: \(error)", isTransient: true)
        }
        guard (200..<300).contains(response.status) else {
            throw WebhookError(
                message: "the URL returned status \(response.status)",
                isTransient: response.status >= 500 || response.status == 408 || response.status == 429)
        }
    }
}
