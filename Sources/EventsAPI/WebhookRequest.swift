package import Foundation
import Synchronization

#if canImport(FoundationNetworking)
    package import FoundationNetworking
#endif

/// One POST of JSON of whose answer only the status counts: little more is read, and no redirect is followed.
package final class WebhookRequest: NSObject, URLSessionDataDelegate {
    private struct Progress {
        var continuation: CheckedContinuation<Result<Int, WebhookError>, Never>?
        var status: Int?
        var bytes = 0
    }

    private static let timeout: TimeInterval = 10
    private static let maxBytes = 64 * 1024

    private let progress = Mutex(Progress())

    /// - Throws: where the URL can't be reached within 10 seconds, or answers with anything but a status of 200 to 299.
    package static func post(_ body: [UInt8], to url: URL) async throws(WebhookError) {
        var request = URLRequest(url: url, timeoutInterval: timeout)
        request.httpMethod = "POST"
        request.setValue("application/json", forHTTPHeaderField: "Content-Type")
        request.setValue("functions-host", forHTTPHeaderField: "User-Agent")
        request.httpBody = Data(body)
        let configuration = URLSessionConfiguration.ephemeral
        configuration.timeoutIntervalForRequest = timeout
        configuration.timeoutIntervalForResource = timeout
        let delegate = WebhookRequest()
        let session = URLSession(configuration: configuration, delegate: delegate, delegateQueue: nil)
        let task = session.dataTask(with: request)
        let result = await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                delegate.progress.withLock { $0.continuation = continuation }
                task.resume()
                // Lets go of the delegate once the task has ended.
                session.finishTasksAndInvalidate()
            }
        } onCancel: {
            task.cancel()
        }
        let status = try result.get()
        guard (200..<300).contains(status) else {
            throw WebhookError(
                message: "the URL answers with status \(status)",
                mayPass: status >= 500 || status == 408 || status == 429)
        }
    }

    package func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        progress.withLock { $0.status = (response as? HTTPURLResponse)?.statusCode }
        completionHandler(.allow)
    }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        let isTooMuch = progress.withLock { progress in
            progress.bytes += data.count
            return progress.bytes > Self.maxBytes
        }
        if isTooMuch { dataTask.cancel() }
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        progress.withLock { $0.status = response.statusCode }
        completionHandler(nil)
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let (continuation, status) = progress.withLock { progress in
            defer { progress.continuation = nil }
            return (progress.continuation, progress.status)
        }
        if let status {
            continuation?.resume(returning: .success(status))
        } else {
            let reason = error?.localizedDescription ?? "no answer"
            continuation?.resume(
                returning: .failure(WebhookError(message: "the URL can't be reached: \(reason)", mayPass: true)))
        }
    }
}
