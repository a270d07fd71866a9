import DocumentModel
import FunctionManifest
import GoogleREST
import OutboundHTTP
import StrictJSON
import TextFormats

/// A client of Firestore's REST API.
struct FirestoreService: Sendable {
    /// Waits before a retry.
    typealias Pause = @Sendable (_ seconds: Double) async -> Void

    let database: DatabaseID
    /// `https://firestore.googleapis.com`, or an emulator's address.
    let origin: String
    let transport: any OutboundTransport
    /// Nil for an emulator, which accepts every request as the owner's.
    let tokens: AccessTokens?
    let pause: Pause

    /// The limit on a response's text, which is held and parsed as a whole.
    static let maxAnswerBytes = 16 * 1024 * 1024
    private static let maxTime: Duration = .seconds(60)
    private static let backoff = Backoff(min: 0.1, max: 5)
    private static let maxAttempts = 3

    /// Sends one request and returns its response.
    ///
    /// A request that couldn't be sent is retried after a delay. A request whose response was lost is only retried if
    /// it is repeatable, that is, if processing it twice has the same effect as once.
    ///
    /// - Parameters:
    ///   - verb: the custom method, such as `runQuery`.
    ///   - parent: the document that the request is below; nil for the database's root.
    ///   - isCancellable: whether the request ends when its task is cancelled. If not, it is only dropped before it
    ///     is sent; once sent, its response is awaited, so that its outcome is known.
    /// - Throws: the service's error; `unavailable` if the service can't be reached or the response was lost, as with
    ///   Google's own clients; `deadlineExceeded` after a minute; `resourceExhausted` if the response is too large.
    func ask(
        _ verb: String, below parent: DocumentPath? = nil, _ body: JSONWriter, isRepeatable: Bool = true,
        isCancellable: Bool = true
    ) async throws(DocumentError) -> JSONNode {
        let path = parent.map { "/" + PercentEncoding.encoded($0.string) } ?? ""
        return try await ask(
            verb, at: "\(path):\(verb)", body: body.bytes, isRepeatable: isRepeatable, isCancellable: isCancellable)
    }

    /// Sends one request for what a path names, as the custom methods are sent.
    ///
    /// - Parameters:
    ///   - verb: what errors call the request.
    ///   - path: the part of the address after the name of the database's documents, with its query.
    ///   - body: the body of a POST; nil for a GET.
    ///   - maxBytes: the limit on the response's text.
    func ask(
        _ verb: String, at path: String, body: [UInt8]?, maxBytes: Int = maxAnswerBytes, isRepeatable: Bool = true,
        isCancellable: Bool = true
    ) async throws(DocumentError) -> JSONNode {
        let budget = ResponseBudget.current
        let request = OutboundRequest(
            to: "\(origin)/v1/\(database.documentsRoot)\(path)",
            headers: ["Content-Type": "application/json", "User-Agent": "functions-host"], body: body,
            limits: OutboundLimits(maxBytes: maxBytes, whole: Self.maxTime),
            reserve: { budget?.grow(to: $0, mayOvercommit: !isRepeatable) ?? true })
        var failures = 1
        while true {
            guard !Task.isCancelled else { throw Self.cancelled }
            let refusal: DocumentError
            let mayRepeat: Bool
            let answer = isCancellable ? await send(request) : await Task { await send(request) }.value
            switch answer {
            case .success(let answer) where answer.status == 200: return try Self.parse(answer.body)
            case .success(let answer):
                refusal = Self.refusal(answer)
                mayRepeat = isRepeatable && refusal.code == .unavailable
            case .failure(let failure) where failure.kind == .outOfMemory:
                do throws(CancellationError) {
                    try await budget?.acquire(Self.maxAnswerBytes)
                } catch {
                    throw Self.cancelled
                }
                continue
            case .failure(let failure):
                refusal = Self.error(failure, verb, maxBytes: maxBytes, isRepeatable: isRepeatable)
                mayRepeat = failure.kind == .notSent || (failure.kind == .lost && isRepeatable)
            }
            guard mayRepeat, failures < Self.maxAttempts else { throw refusal }
            await wait(afterFailures: failures)
            failures += 1
        }
    }

    /// Waits with exponential backoff, so that competing transactions can finish.
    func wait(afterFailures failures: Int) async {
        await pause(Self.backoff.pause(afterFailures: failures) * .random(in: 0.5...1))
    }

    private func send(_ request: OutboundRequest) async -> Result<OutboundResponse, OutboundError> {
        do throws(OutboundError) { return .success(try await authorized(request)) } catch { return .failure(error) }
    }

    /// Sends a request, and sends it again with a new token if its token is no longer accepted.
    private func authorized(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        var request = request
        guard let tokens else {
            request.headers["Authorization"] = "Bearer owner"
            return try await transport.send(request)
        }
        let token = try await tokens.token()
        request.headers["Authorization"] = "Bearer \(token)"
        let answer = try await transport.send(request)
        guard answer.status == 401 else { return answer }
        request.headers["Authorization"] = "Bearer \(try await tokens.token(insteadOf: token))"
        return try await transport.send(request)
    }

    private static func parse(_ body: [UInt8]) throws(DocumentError) -> JSONNode {
        let node: JSONNode
        do throws(JSONProblem) {
            node = try JSONNode(parsing: body, maxValues: .max)
        } catch {
            throw unreadable(error.message)
        }
        if let error = node.error { throw error }
        return node
    }

    private static func refusal(_ answer: OutboundResponse) -> DocumentError {
        if let error = (try? JSONNode(parsing: answer.body))?.error(withStatus: answer.status) { return error }
        return DocumentError(
            StatusCode(httpStatus: answer.status), "the document service returned status \(answer.status)")
    }

    private static func error(
        _ failure: OutboundError, _ verb: String, maxBytes: Int, isRepeatable: Bool
    ) -> DocumentError {
        let caveat = isRepeatable ? "" : "; the request may have been processed"
        switch failure.kind {
        case .notSent:
            return DocumentError(.unavailable, "the \(verb) request to the document service failed: \(failure)")
        case .lost:
            return DocumentError(
                .unavailable,
                "the response to the \(verb) request to the document service was lost: \(failure)\(caveat)")
        case .timedOut:
            return DocumentError(
                .deadlineExceeded,
                "the document service didn't respond to the \(verb) request within "
                    + "\(maxTime.components.seconds) s\(caveat)")
        case .cancelled: return cancelled
        case .tooLarge, .outOfMemory:
            return DocumentError(
                .resourceExhausted,
                "the response of the document service exceeds the limit of \(maxBytes / 1_048_576) MiB; request "
                    + "fewer documents, page by page\(caveat)")
        }
    }

    static let cancelled = DocumentError(.cancelled, "the invocation is over")

    static func unreadable(_ why: String) -> DocumentError {
        DocumentError(.internal, "the response of the document service is invalid: \(why)")
    }
}

extension JSONNode {
    /// Reads a response, or a part of it.
    func answer<Message>(
        _ body: (JSONNode) throws(JSONProblem) -> Message
    ) throws(DocumentError) -> Message {
        do throws(JSONProblem) {
            return try body(self)
        } catch {
            let path = path(to: error.offset) ?? ""
            throw FirestoreService.unreadable(path.isEmpty ? error.message : "\(path): \(error.message)")
        }
    }

    /// The messages of a streamed response, which is an array. The last one may be an error.
    func stream() throws(DocumentError) -> [JSONNode] {
        let elements = try answer { (node) throws(JSONProblem) in try node.elements() }
        if let error = elements.last?.error { throw error }
        return elements
    }
}
