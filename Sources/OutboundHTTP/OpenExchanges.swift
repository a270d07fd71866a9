import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// The exchanges of a session that are under way. It receives what the session's connections report.
final class OpenExchanges: NSObject, URLSessionDataDelegate {
    typealias Outcome = Result<OutboundResponse, OutboundError>

    private struct Open {
        var exchange: Exchange
        /// Ends the exchange at its deadline.
        var watch: Task<Void, Never>
        var completion: @Sendable (Outcome) -> Void
    }

    private let clock: ExchangeClock
    /// By the task's number. The code that removes an exchange completes it.
    private let open = Mutex<[Int: Open]>([:])

    init(_ clock: ExchangeClock) { self.clock = clock }

    /// - Returns: the watch, which ends once it has ended the exchange or isn't needed any more.
    @discardableResult
    func begin(
        _ exchange: Exchange, for task: URLSessionTask, _ completion: @escaping @Sendable (Outcome) -> Void
    ) -> Task<Void, Never> {
        open.withLock { open in
            // However soon the watch runs, it waits for this lock and finds the exchange.
            let watch = Task { await self.watch(task) }
            open[task.taskIdentifier] = Open(exchange: exchange, watch: watch, completion: completion)
            return watch
        }
    }

    /// Ends the wait for a response at once.
    func end(_ task: URLSessionTask, with error: OutboundError) {
        guard let ended = remove(task) else { return }
        task.cancel()
        ended.completion(ended.exchange.end(with: error))
    }

    /// Waits for the deadline, which each byte moves, and ends the exchange then.
    private func watch(_ task: URLSessionTask) async {
        while let deadline = open.withLock({ $0[task.taskIdentifier]?.exchange.deadline }) {
            guard (try? await clock.sleep(deadline)) != nil else { return }
            let error = open.withLock { $0[task.taskIdentifier]?.exchange.expiry(at: clock.now()) }
            if let error { end(task, with: error) }
        }
    }

    private func remove(_ task: URLSessionTask) -> Open? {
        let removed = open.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        removed?.watch.cancel()
        return removed
    }

    private func receiveHead(_ response: HTTPURLResponse, for task: URLSessionTask) {
        var headers: [String: String] = [:]
        for case (let name as String, let value as String) in response.allHeaderFields { headers[name] = value }
        let (status, fields) = (response.statusCode, headers)
        open.withLock {
            $0[task.taskIdentifier]?.exchange.receiveHead(status: status, headers: fields, at: clock.now())
        }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didSendBodyData bytesSent: Int64, totalBytesSent: Int64,
        totalBytesExpectedToSend: Int64
    ) {
        open.withLock { $0[task.taskIdentifier]?.exchange.sentBody() }
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        if let response = response as? HTTPURLResponse { receiveHead(response, for: dataTask) }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        // The caller's code runs without the lock.
        if let receive = open.withLock({ $0[dataTask.taskIdentifier]?.exchange.receiver(at: clock.now()) }) {
            if !receive(Array(data)) { dataTask.cancel() }
            return
        }
        let isMoreWanted = open.withLock {
            $0[dataTask.taskIdentifier]?.exchange.receive(data, at: clock.now()) ?? false
        }
        if !isMoreWanted { dataTask.cancel() }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        receiveHead(response, for: task)
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let ended = remove(task) else { return }
        ended.completion(ended.exchange.end(with: error.map { OutboundError($0, host: ended.exchange.host) }))
    }
}

extension OutboundError {
    fileprivate init(_ error: any Error, host: String) {
        let kind: Kind =
            switch (error as? URLError)?.code {
            case .timedOut: .timedOut
            case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet,
                .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
                .serverCertificateHasUnknownRoot, .badURL, .unsupportedURL:
                .notSent
            default: .lost
            }
        self.init(kind, host: host, error.localizedDescription)
    }
}
