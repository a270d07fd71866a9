import Foundation

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Sends requests over connections that are kept alive, many side by side.
///
/// Redirects aren't followed: a token is meant for the address that it was sent to. Cookies, credentials and responses
/// aren't stored. Silence and the whole exchange are bounded on an injected clock, and an exchange ends for its caller
/// at once, however long the connection takes to close.
package final class OutboundClient: OutboundTransport {
    private let exchanges: OpenExchanges
    private let session: URLSession
    private let clock: ExchangeClock

    /// More than the document operations that may be under way at a time, so that the end of a transaction waits for
    /// none of them.
    private static let maxConnectionsPerHost = 192
    /// Seconds; longer than any exchange, since our own clock bounds them.
    private static let sessionTimeout = 3600.0

    package init(clock: some Clock<Duration> = ContinuousClock()) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.timeoutIntervalForRequest = Self.sessionTimeout
        configuration.httpMaximumConnectionsPerHost = Self.maxConnectionsPerHost
        self.clock = ExchangeClock(clock)
        exchanges = OpenExchanges(self.clock)
        session = URLSession(configuration: configuration, delegate: exchanges, delegateQueue: nil)
    }

    /// A session holds on to its delegate until it is invalidated.
    deinit { session.finishTasksAndInvalidate() }

    package func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        guard let url = URL(string: request.address), let host = url.hostAndPort else {
            throw OutboundError(.notSent, host: "", "the address is not an HTTP URL")
        }
        let task = session.dataTask(with: URLRequest(request, to: url))
        let exchange = Exchange(request, host: host, at: clock.now())
        let cancelled = OutboundError(.cancelled, host: host, "the request was cancelled")
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                exchanges.begin(exchange, for: task) { continuation.resume(returning: $0) }
                // The handler may have run before the exchange began.
                if Task.isCancelled { exchanges.end(task, with: cancelled) }
                task.resume()
            }
        } onCancel: {
            exchanges.end(task, with: cancelled)
        }
        return try result.get()
    }
}

extension URLRequest {
    fileprivate init(_ request: OutboundRequest, to url: URL) {
        self.init(url: url)
        if let body = request.body {
            httpMethod = "POST"
            httpBody = Data(body)
        }
        if let method = request.method { httpMethod = method }
        for (name, value) in request.headers { setValue(value, forHTTPHeaderField: name) }
    }
}

extension URL {
    /// Nil if the URL isn't an HTTP URL.
    fileprivate var hostAndPort: String? {
        guard let scheme = scheme?.lowercased(), scheme == "http" || scheme == "https", let host, !host.isEmpty else {
            return nil
        }
        return port.map { "\(host):\($0)" } ?? host
    }
}
