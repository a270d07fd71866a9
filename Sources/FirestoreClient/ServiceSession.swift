import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// Requests over connections that are kept, as many side by side as are asked for.
///
/// Redirects aren't followed: a token is for the address that it was sent to.
package final class ServiceSession: ServiceTransport {
    private let delegate = ServiceSessionDelegate()
    private let session: URLSession

    /// More than the operations that wait for room: the end of a transaction waits for none of them.
    private static let maxConnections = 192
    /// Longer than any request has: what the session itself bounds is only the time between two parts of an answer.
    private static let idleTimeout = 3600.0

    package init() {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.urlCache = nil
        configuration.httpCookieStorage = nil
        configuration.urlCredentialStorage = nil
        configuration.timeoutIntervalForRequest = Self.idleTimeout
        configuration.httpMaximumConnectionsPerHost = Self.maxConnections
        session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
    }

    deinit { session.finishTasksAndInvalidate() }

    package func send(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceAnswer {
        guard let url = URL(string: request.address) else {
            throw ServiceFailure(kind: .notSent, message: "\(request.address) is no address")
        }
        var sent = URLRequest(url: url)
        if let body = request.body {
            sent.httpMethod = "POST"
            sent.httpBody = Data(body)
        }
        for (name, value) in request.headers { sent.setValue(value, forHTTPHeaderField: name) }
        let task = session.dataTask(with: sent)
        let timer = Task { [delegate] in
            try await Task.sleep(for: .seconds(request.timeout))
            delegate.end(task, .timedOut, "it took too long")
        }
        defer { timer.cancel() }
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                delegate.expect(task, request, continuation)
                // One that is cancelled by now wasn't expected yet when it was.
                if Task.isCancelled { delegate.end(task, .cancelled, "nobody waits for it") }
                task.resume()
            }
        } onCancel: {
            delegate.end(task, .cancelled, "nobody waits for it")
        }
        return try result.get()
    }
}

/// Gathers the answers of a session's requests.
private final class ServiceSessionDelegate: NSObject, URLSessionDataDelegate {
    typealias Continuation = CheckedContinuation<Result<ServiceAnswer, ServiceFailure>, Never>

    private struct Progress {
        var continuation: Continuation
        var request: ServiceRequest
        var status: Int?
        var body: [UInt8] = []
        /// Why no more of it is taken.
        var refusal: ServiceFailure?
    }

    private let progress = Mutex<[Int: Progress]>([:])

    func expect(_ task: URLSessionTask, _ request: ServiceRequest, _ continuation: Continuation) {
        progress.withLock { $0[task.taskIdentifier] = Progress(continuation: continuation, request: request) }
    }

    /// Ends the wait at once, however long the connection takes to end.
    func end(_ task: URLSessionTask, _ kind: ServiceFailure.Kind, _ message: String) {
        guard let progress = progress.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        task.cancel()
        progress.continuation.resume(returning: .failure(ServiceFailure(kind: kind, message: message)))
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        progress.withLock { $0[dataTask.taskIdentifier]?.status = (response as? HTTPURLResponse)?.statusCode }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isRefused = progress.withLock { progress in
            let id = dataTask.taskIdentifier
            guard let request = progress[id]?.request, let count = progress[id]?.body.count else { return false }
            let bytes = count + data.count
            guard bytes <= request.maxBytes else {
                progress[id]?.refusal = ServiceFailure(
                    kind: .tooLarge, message: "it has more than \(request.maxBytes) bytes")
                return true
            }
            guard request.room?.grow(to: bytes, isNeeded: !request.isRepeatable) ?? true else {
                progress[id]?.refusal = ServiceFailure(kind: .noRoom, message: "other answers take the room")
                return true
            }
            progress[id]?.body.append(contentsOf: data)
            return false
        }
        if isRefused { dataTask.cancel() }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        progress.withLock { $0[task.taskIdentifier]?.status = response.statusCode }
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        guard let progress = progress.withLock({ $0.removeValue(forKey: task.taskIdentifier) }) else { return }
        let result: Result<ServiceAnswer, ServiceFailure> =
            if let refusal = progress.refusal {
                .failure(refusal)
            } else if let error {
                .failure(ServiceFailure(error))
            } else if let status = progress.status {
                .success(ServiceAnswer(status: status, body: progress.body))
            } else {
                .failure(ServiceFailure(kind: .lost, message: "it is not HTTP"))
            }
        progress.continuation.resume(returning: result)
    }
}

extension ServiceFailure {
    fileprivate init(_ error: any Error) {
        let kind: Kind =
            switch (error as? URLError)?.code {
            case .timedOut: .timedOut
            case .cannotFindHost, .cannotConnectToHost, .dnsLookupFailed, .notConnectedToInternet,
                .secureConnectionFailed, .serverCertificateUntrusted, .serverCertificateHasBadDate,
                .serverCertificateHasUnknownRoot, .badURL, .unsupportedURL:
                .notSent
            default: .lost
            }
        self.init(kind: kind, message: error.localizedDescription)
    }
}
