import DocumentModel
import FirestoreClient
import FunctionManifest
import OutboundHTTP

/// A client of the Realtime Database's REST API.
struct DatabaseService: Sendable {
    /// Waits before a retry.
    typealias Pause = @Sendable (_ seconds: Double) async -> Void

    let location: DatabaseLocation
    let transport: any OutboundTransport
    /// For streams, which would take the connections of other requests.
    let streams: any OutboundTransport
    /// Nil for an emulator, which accepts every request as the owner's.
    let tokens: AccessTokens?
    let pause: Pause

    /// The limit on a response's text, which is held and parsed as a whole.
    static let maxAnswerBytes = 16 * 1024 * 1024
    /// Of a write's response only the status is used, and the error.
    private static let maxWriteAnswerBytes = 64 * 1024
    private static let maxTime: Duration = .seconds(60)
    /// The service shows every 30 s that a stream lives.
    private static let maxSilence: Duration = .seconds(90)
    /// A stream is opened again then.
    private static let maxStreamTime: Duration = .seconds(1800)
    static let backoff = Backoff(min: 0.1, max: 5)
    private static let maxAttempts = 3
    private static let maxRedirects = 5

    // MARK: Reads

    /// Reads a place. It is attempted again if the service can't be reached, isn't available, or its response is lost.
    ///
    /// - Throws: the service's error; `unavailable`, `deadlineExceeded` after a minute, or `resourceExhausted` if the response
    ///   is too large.
    func read(_ address: String, wantsETag: Bool) async throws(DocumentError) -> OutboundResponse {
        let budget = ResponseBudget.current
        var request = OutboundRequest(
            to: address, headers: ["User-Agent": Self.agent],
            limits: OutboundLimits(maxBytes: Self.maxAnswerBytes, whole: Self.maxTime),
            reserve: { budget?.grow(to: $0, mayOvercommit: false) ?? true })
        if wantsETag { request.headers["X-Firebase-ETag"] = "true" }
        var failures = 1
        while true {
            guard !Task.isCancelled else { throw .invocationOver }
            let error: DocumentError
            let mayRepeat: Bool
            switch await exchange(request, over: transport) {
            case .success(let answer) where answer.status == 200: return answer
            case .success(let answer):
                error = refusal(answer)
                mayRepeat = error.code == .unavailable
            case .failure(let failure) where failure.kind == .outOfMemory:
                do throws(CancellationError) {
                    try await budget?.acquire(Self.maxAnswerBytes)
                } catch {
                    throw .invocationOver
                }
                continue
            case .failure(let failure):
                error = DocumentError(failure, maxTime: Self.maxTime)
                mayRepeat = failure.kind == .notSent || failure.kind == .lost
            }
            guard mayRepeat, failures < Self.maxAttempts else { throw error }
            await wait(afterFailures: failures)
            failures += 1
        }
    }

    // MARK: Writes

    /// Sends a write. It is only sent again if the service can't have received it.
    ///
    /// Once it is sent its outcome is awaited, even if the invocation ends meanwhile.
    ///
    /// - Parameters:
    ///   - etag: what the service's ETag has to be; nil without a condition.
    /// - Throws: `aborted` if the ETag is another one; otherwise as a read.
    func write(
        _ method: String, _ address: String, _ body: [UInt8], ifMatch etag: String?
    ) async throws(DocumentError) {
        var request = OutboundRequest(
            to: address, headers: ["Content-Type": "application/json", "User-Agent": Self.agent], body: body,
            method: method, limits: OutboundLimits(maxBytes: Self.maxWriteAnswerBytes, whole: Self.maxTime),
            need: .status)
        if let etag { request.headers["if-match"] = etag }
        let sent = request
        var failures = 1
        while true {
            guard !Task.isCancelled else { throw .invocationOver }
            switch await Task(operation: { await exchange(sent, over: transport) }).value {
            case .success(let answer) where answer.status == 200 || answer.status == 204: return
            case .success(let answer): throw refusal(answer)
            case .failure(let failure):
                guard failure.kind == .notSent, failures < Self.maxAttempts else {
                    throw DocumentError(failure, maxTime: Self.maxTime, isWrite: true)
                }
            }
            await wait(afterFailures: failures)
            failures += 1
        }
    }

    // MARK: Streams

    /// Opens a stream of events, and returns when it has ended.
    ///
    /// - Parameter receive: receives the bytes; returns whether more are wanted.
    func stream(
        _ address: String, _ receive: @escaping @Sendable ([UInt8]) -> Bool
    ) async -> Result<OutboundResponse, OutboundError> {
        var request = OutboundRequest(
            to: address, headers: ["Accept": "text/event-stream", "User-Agent": Self.agent],
            limits: OutboundLimits(
                maxBytes: Self.maxWriteAnswerBytes, silence: Self.maxSilence, whole: Self.maxStreamTime))
        request.receive = receive
        return await exchange(request, over: streams)
    }

    // MARK: Exchanges

    private static let agent = "functions-host"

    func wait(afterFailures failures: Int) async {
        await pause(Self.backoff.pause(afterFailures: failures) * .random(in: 0.5...1))
    }

    /// Sends a request, and sends it again with a new token if its token is no longer accepted.
    private func exchange(
        _ request: OutboundRequest, over transport: any OutboundTransport
    ) async -> Result<OutboundResponse, OutboundError> {
        do throws(OutboundError) {
            guard let tokens else { return .success(try await follow(request, as: "owner", over: transport)) }
            let token = try await tokens.token()
            let answer = try await follow(request, as: token, over: transport)
            guard answer.status == 401 else { return .success(answer) }
            return .success(
                try await follow(request, as: try await tokens.token(insteadOf: token), over: transport))
        } catch {
            return .failure(error)
        }
    }

    /// Sends a request to where the service redirects it. A server that redirects hasn't acted on it.
    private func follow(
        _ request: OutboundRequest, as token: String, over transport: any OutboundTransport
    ) async throws(OutboundError) -> OutboundResponse {
        var request = request
        request.headers["Authorization"] = "Bearer \(token)"
        for _ in 0..<Self.maxRedirects {
            let answer = try await transport.send(request)
            guard answer.status == 307 || answer.status == 308, let place = answer.header("Location"),
                location.trusts(redirectTo: place)
            else { return answer }
            request.address = place
        }
        return try await transport.send(request)
    }
}
