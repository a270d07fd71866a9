import DocumentModel
import FunctionManifest
import NIOCore
import NIOHTTP1
import WorkerProtocol

/// An answer to a call that no function sees. It is one that an SDK in a browser can read.
struct EarlyRefusal {
    let status: HTTPResponseStatus
    let headers: HTTPHeaders
    let body: ByteBuffer

    private init(status: HTTPResponseStatus, headers: HTTPHeaders, body: ByteBuffer) {
        self.status = status
        self.headers = headers
        self.body = body
    }

    /// - Parameters:
    ///   - head: nil if the request couldn't be read.
    ///   - trigger: the function that the request is for; nil if there is none.
    init(
        _ failure: InvocationFailure, status: HTTPResponseStatus, to head: HTTPRequestHead?, trigger: TriggerManifest?
    ) {
        var json = ByteBuffer()
        ErrorBody.write(failure, to: &json)
        let asks = head.map { $0.method == .POST && $0.headers.first(name: "Accept") == "text/event-stream" } ?? false
        // SDKs that asked for a stream wait for ever on anything else.
        let isStream = asks && trigger?.isCallable ?? true
        var headers: HTTPHeaders =
            isStream
            ? ["Content-Type": "text/event-stream", "Cache-Control": "no-cache"]
            : ["Content-Type": "application/json; charset=utf-8"]
        if let head { CORSHeaders.add(to: &headers, head.headers, policy: trigger?.corsPolicy ?? .any) }
        self.init(
            status: isStream ? .ok : status, headers: headers,
            body: isStream ? ByteBuffer(string: "data: \(String(buffer: json))\n\n") : json)
    }

    /// The answer to a call of a function that doesn't exist.
    ///
    /// - Parameter suggestion: the function that may be meant; nil in production, which names no functions.
    init(unknown head: HTTPRequestHead, suggestion: String? = nil) {
        guard head.method != .OPTIONS || !head.headers.contains(name: "Access-Control-Request-Method") else {
            // Otherwise a page would never see the answer to the call.
            self.init(
                status: .noContent, headers: CORSHeaders.preflight(head.headers, policy: .any, methods: "POST"),
                body: ByteBuffer())
            return
        }
        let path = head.uri.prefix { $0 != "?" }
        self.init(
            InvocationFailure(
                code: .notFound,
                message: suggestion.map { "There is no function at \(path); did you mean \($0)?" }
                    ?? "There is no function at \(path)."), status: .notFound,
            to: head, trigger: nil)
    }
}

extension TriggerManifest {
    fileprivate var isCallable: Bool { if case .callable = self { true } else { false } }

    /// Nil for functions that clients can't call.
    fileprivate var corsPolicy: CORSPolicy? {
        switch self {
        case .callable(let trigger): trigger.cors
        case .http(let trigger): trigger.cors
        case .document, .reference, .schedule, .task, .event, .blocking: nil
        }
    }
}
