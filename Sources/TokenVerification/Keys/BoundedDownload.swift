import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    import FoundationNetworking
#endif

/// One GET whose answer is bounded in size and in time.
///
/// Redirects aren't followed: an issuer's keys come from the address that is known, or not at all.
final class BoundedDownload: NSObject, URLSessionDataDelegate {
    private struct Progress {
        var continuation: CheckedContinuation<Result<[UInt8], KeySourceError>, Never>?
        var body: [UInt8] = []
        var response: HTTPURLResponse?
        var isTooLarge = false
    }

    private let maxBytes: Int
    private let progress = Mutex(Progress())

    private init(maxBytes: Int) { self.maxBytes = maxBytes }

    /// - Parameter timeout: Seconds for all of it.
    static func get(
        _ address: URL, maxBytes: Int, timeout: TimeInterval
    ) async throws(KeySourceError) -> ([UInt8], HTTPURLResponse) {
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout
        configuration.timeoutIntervalForResource = timeout
        configuration.urlCache = nil
        let download = BoundedDownload(maxBytes: maxBytes)
        let session = URLSession(configuration: configuration, delegate: download, delegateQueue: nil)
        let task = session.dataTask(with: address)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                download.progress.withLock { $0.continuation = continuation }
                task.resume()
                // Lets go of the delegate once the task has ended.
                session.finishTasksAndInvalidate()
            }
        } onCancel: {
            task.cancel()
        }
        let body = try result.get()
        guard let response = download.progress.withLock({ $0.response }) else {
            throw KeySourceError("the issuer's answer is not HTTP")
        }
        return (body, response)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        progress.withLock { $0.response = response as? HTTPURLResponse }
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooLarge = progress.withLock { progress in
            guard progress.body.count + data.count <= maxBytes else {
                progress.isTooLarge = true
                return true
            }
            progress.body.append(contentsOf: data)
            return false
        }
        if isTooLarge { dataTask.cancel() }
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        progress.withLock { $0.response = response }
        completionHandler(nil)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (continuation, result) = progress.withLock { progress in
            defer { progress.continuation = nil }
            let result: Result<[UInt8], KeySourceError> =
                if progress.isTooLarge {
                    .failure(KeySourceError("the issuer's answer is larger than \(maxBytes) bytes"))
                } else if let error {
                    .failure(KeySourceError("the issuer can't be reached: \(error.localizedDescription)"))
                } else {
                    .success(progress.body)
                }
            return (progress.continuation, result)
        }
        continuation?.resume(returning: result)
    }
}
