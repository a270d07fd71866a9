#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Sends requests over connections that are kept alive, many side by side.
///
/// Redirects aren't followed: a token is meant for the address that it was sent to. Cookies, credentials and responses
/// aren't stored. Silence and the whole exchange are bounded on an injected clock, and an exchange ends for its caller
/// at once, however long the connection takes to close.
package final class OutboundClient: OutboundTransport {
    private let connections: Connections
    private let clock: ExchangeClock

    package convenience init(clock: some Clock<Duration> = ContinuousClock()) {
        self.init(clock: clock, settings: .process)
    }

    init(clock: some Clock<Duration>, settings: NetworkSettings) {
        self.clock = ExchangeClock(clock)
        connections = Connections(settings)
    }

    package func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard let url = URL(string: request.address), let host = url.hostAndPort else {
            throw OutboundError(.notSent, host: "", "the address is not an HTTP URL")
        }
        let start = try connections.start(request, to: url, host: host)
        let exchange = Exchange(request, host: host, at: clock.now())
        let open = OpenExchange(clock)
        let cancelled = OutboundError(.cancelled, host: host, "the request was cancelled")
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                open.begin(exchange) { continuation.resume(returning: $0) }
                // The handler may have run before the exchange began.
                if Task.isCancelled { open.end(with: cancelled) }
                open.send(start)
            }
        } onCancel: {
            open.end(with: cancelled)
        }
        return try result.get()
    }
}

extension URL {
    /// Nil if the URL isn't an HTTP URL.
    fileprivate var hostAndPort: String? {
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https", let host, !host.isEmpty,
            // Of an address with another port, NIO would trap.
            (1...65_535).contains(port ?? 80)
        else { return nil }
        return port.map { "\(host):\($0)" } ?? host
    }
}
