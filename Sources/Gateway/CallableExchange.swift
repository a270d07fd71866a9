import DocumentModel
import FunctionManifest
import TokenVerification
import WorkerProtocol
import Workers
import Logging
import NIOCore
import NIOHTTP1

/// A call of a callable function: the protocol's checks in their order, then the invocation, then its answer.
final class CallableExchange: Exchange, InvocationClient {
    private let request: GatewayRequest
    private let trigger: TriggerManifest.CallableTrigger
    private let loop: GatewayLoop
    private unowned let connection: GatewayHandler
    private var invocation: Invocation?
    private var hasLeft = false
    /// Of what is read beside the loop.
    private var reading: OperationCancellation?
    private let stream: EventStream?

    private var function: ServedFunction { request.match.function }
    private var headers: HTTPHeaders { request.head.headers }

    init(
        _ request: GatewayRequest, _ trigger: TriggerManifest.CallableTrigger, loop: GatewayLoop,
        connection: GatewayHandler
    ) {
        self.request = request
        self.trigger = trigger
        self.loop = loop
        self.connection = connection
        // Exactly this value: a browser's list of accepted types doesn't ask for a stream.
        stream =
            request.head.headers.first(name: "Accept") == "text/event-stream"
            ? EventStream(connection: connection, loop: loop.eventLoop) : nil
    }

    func begin() {
        if request.head.method == .OPTIONS {
            let answer = CORSHeaders.preflight(headers, policy: trigger.cors, methods: "POST")
            return connection.send(.noContent, answer, body: ByteBuffer())
        }
        guard request.head.method == .POST, isJSON else {
            return refuseBody("it must be a POST of application/json")
        }
        if let coding = headers.first(name: "Content-Encoding"), HTTPText.isCompression(coding) {
            log("a request isn't a valid call", reason: "its body is compressed")
            return refuse(.compressedBody)
        }
        guard idempotencyKey.utf8.count <= 256 else {
            return refuseBody("its Idempotency-Key is longer than 256 bytes")
        }
        let body = request.body
        guard body.readableBytes > Self.largeBody else { return found(Self.data(in: body)) }
        readBesideLoop {
            Self.data(in: body)
        } completion: { [self] in
            found($0)
        }
    }

    private static func data(in body: ByteBuffer) -> Result<ByteBuffer, EnvelopeScanner.Failure> {
        Result { () throws(EnvelopeScanner.Failure) in try EnvelopeScanner.data(in: body) }
    }

    private func found(_ data: Result<ByteBuffer, EnvelopeScanner.Failure>) {
        switch data {
        case .failure(let failure): refuseBody(failure.description)
        case .success(let data):
            TokenCheck(headers, verifiers: loop.verifiers).run(on: loop.eventLoop) { [self] result in
                admit(data, result)
            }
        }
    }

    private func refuseBody(_ reason: String) {
        log("a request isn't a valid call", reason: reason)
        refuse(.badRequest)
    }

    /// Larger bodies are scanned beside the loop.
    private static let largeBody = 256 * 1024
    /// The keys of larger data are sorted beside the loop.
    private static let largeKeyedData = 16 * 1024

    /// Reads what is large, unless the client has left before its turn.
    ///
    /// - Parameter completion: called on the loop, unless the client has left.
    private func readBesideLoop<Found: Sendable>(
        _ find: @escaping @Sendable () -> Found, completion: @escaping (Found) -> Void
    ) {
        let cancellation = OperationCancellation()
        reading = cancellation
        let box = NIOLoopBound((self, completion), eventLoop: loop.eventLoop)
        let address = request.address.map { UInt64(truncatingIfNeeded: $0.holder.hashValue) } ?? 0
        loop.longWork(address) { [eventLoop = loop.eventLoop] in
            let found = cancellation.isCancelled ? nil : find()
            eventLoop.execute {
                let (exchange, completion) = box.value
                if let found, !exchange.hasLeft { completion(found) }
            }
        }
    }

    func clientLeft() {
        hasLeft = true
        reading?.cancel()
        stream?.stop()
        invocation?.clientLeft()
    }

    // MARK: Admission

    private var isJSON: Bool {
        guard let type = headers.first(name: "Content-Type") else { return false }
        if type == "application/json" { return true }
        let essence = type.prefix { $0 != ";" }.lowercased()
        return essence.split(whereSeparator: \.isWhitespace) == ["application/json"]
    }

    private func admit(_ data: ByteBuffer, _ tokens: TokenCheck.Result) {
        guard !hasLeft else { return }
        var identities: (auth: InvocationHead.VerifiedIdentity?, app: InvocationHead.VerifiedIdentity?)
        switch tokens.idToken {
        case .absent: identities.auth = nil
        case .valid(let identity, _): identities.auth = identity
        case .invalid(let reason):
            log("an ID token was refused", reason: reason)
            return refuse(.unauthenticated)
        case .unavailable:
            return refuse(.keysUnavailable)
        }
        guard identities.auth != nil || takesAnonymousKeys || idempotencyKey.isEmpty else {
            log("a call was refused", reason: "it has an Idempotency-Key and no ID token")
            return refuse(.keyWithoutUser)
        }
        let enforces = trigger.enforceAppCheck || loop.verifiers.appCheckGate?.mode == .enforced
        if let gate = loop.verifiers.appCheckGate { gate.figures.count(tokens.appCheck.counted) }
        switch tokens.appCheck {
        case .valid(let identity, let expires):
            identities.app = identity
            if trigger.consumeAppCheckToken, let token = headers.first(name: "X-Firebase-AppCheck") {
                return consume(token, expires: expires, data, identities.auth, identity)
            }
        case .absent where enforces:
            log("a call was refused", reason: "it has no App Check token")
            return refuse(.unauthenticated)
        case .invalid(let reason):
            log("an App Check token was refused", reason: reason)
            if enforces { return refuse(.unauthenticated) }
        case .unavailable where enforces:
            return refuse(.keysUnavailable)
        case .absent, .unavailable: break
        }
        submit(data, identities.auth, identities.app, isConsumed: false)
    }

    /// Consumes the app's token, and then makes the call.
    private func consume(
        _ token: String, expires: Int64, _ data: ByteBuffer, _ auth: InvocationHead.VerifiedIdentity?,
        _ app: InvocationHead.VerifiedIdentity
    ) {
        let box = NIOLoopBound(self, eventLoop: loop.eventLoop)
        loop.consumedTokens.consume(token, expires: expires) { [eventLoop = loop.eventLoop] isConsumed in
            eventLoop.execute {
                let call = box.value
                guard !call.hasLeft else { return }
                // Whether it is a replay isn't known: the client may retry.
                guard let isConsumed else { return call.refuse(.tokensUnavailable) }
                call.submit(data, auth, app, isConsumed: isConsumed)
            }
        }
    }

    private func submit(
        _ data: ByteBuffer, _ auth: InvocationHead.VerifiedIdentity?, _ app: InvocationHead.VerifiedIdentity?,
        isConsumed: Bool
    ) {
        guard data.readableBytes > Self.largeKeyedData, hasKey else {
            return submit(data, nil, auth, app, isConsumed: isConsumed)
        }
        readBesideLoop {
            CompletionKey.fingerprint(of: data)
        } completion: { [self] fingerprint in
            submit(data, fingerprint, auth, app, isConsumed: isConsumed)
        }
    }

    /// - Parameter fingerprint: that of the data, if it took long.
    private func submit(
        _ data: ByteBuffer, _ fingerprint: [UInt8]?, _ auth: InvocationHead.VerifiedIdentity?,
        _ app: InvocationHead.VerifiedIdentity?, isConsumed: Bool
    ) {
        do throws(AdmissionRefusal) {
            let invocation = try function.admit(
                user: auth, address: request.address, for: self, on: loop.invocations
            ) {
                var head = InvocationHead(
                    app: app, streams: stream != nil,
                    headers: HeaderBlock(headers.lazy.map { (name: $0.name, value: $0.value) }))
                head.appTokenConsumed = isConsumed
                let key = completionKey(data, fingerprint, uid: auth?.id)
                // A transactional function's key is used by the store.
                if let key, !key.key.isEmpty {
                    head.hasHostedKey = function.manifest.isTransactional
                    if !head.hasHostedKey { head.idempotencyKey = key.key }
                }
                stream?.begin(headers: answerHeaders(), heartbeat: trigger.heartbeatSeconds)
                return InvocationRequest(
                    head: head, body: .bytes(data), completionKey: key)
            }
            self.invocation = invocation
            // The client may have left while the stream's head was written.
            if hasLeft { invocation.clientLeft() }
        } catch {
            refuse(error.failure, retryAfter: error.retryAfterSeconds)
        }
    }

    /// The key under which the answer is kept, for this caller and this data; empty if the data has it.
    private func completionKey(_ data: ByteBuffer, _ fingerprint: [UInt8]?, uid: String?) -> CompletionKey? {
        guard hasKey else { return nil }
        return CompletionKey(
            function: function.manifest.name, uid: uid, key: idempotencyKey,
            fingerprint: fingerprint ?? CompletionKey.fingerprint(of: data))
    }

    private var hasKey: Bool { !idempotencyKey.isEmpty || trigger.hasIdempotencyKey }

    private var idempotencyKey: String { headers.first(name: "Idempotency-Key") ?? "" }

    /// Whether callers without a token may have answers kept: only where the author expects keys.
    private var takesAnonymousKeys: Bool { function.manifest.isTransactional || trigger.hasIdempotencyKey }

    /// Answers a call that doesn't become an invocation.
    private func refuse(_ failure: InvocationFailure, retryAfter: Int64? = nil) {
        function.countRefusal(failure, now: loop.eventLoop.now)
        fail(failure, retryAfter: retryAfter)
    }

    // MARK: Answer

    func invocationSent(_ head: HTTPAnswerHead) {}

    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) {
        guard let stream else { return taken() }
        stream.send(.message, chunk, taken: taken)
    }

    func invocationAnswered(_ outcome: InvocationOutcome) {
        switch outcome {
        case .failure(let failure), .notStarted(let failure): fail(failure)
        case .lost: fail(.internal)
        case .result(let result):
            let isSent =
                stream?.end(.result, result)
                ?? connection.send(
                    .ok, answerHeaders(), AnswerPart(opening: "{\"result\":", content: result, closing: "}"))
            if !isSent { fail(.tooManyAnswers) }
        }
    }

    /// - Parameter retryAfter: the number of seconds after which a retry may succeed.
    private func fail(_ failure: InvocationFailure, retryAfter: Int64? = nil) {
        var body = ByteBuffer()
        ErrorBody.write(failure, to: &body)
        if let stream {
            stream.begin(headers: answerHeaders(), heartbeat: nil)
            if !stream.end(body) { fail(.tooManyAnswers) }
            return
        }
        var answer = answerHeaders()
        if let retryAfter { answer.add(name: "Retry-After", value: "\(retryAfter)") }
        let isSent = connection.send(
            .init(statusCode: failure.code.httpStatus), answer, AnswerPart(content: body))
        // An error may have large details.
        if !isSent { fail(.tooManyAnswers) }
    }

    private func answerHeaders() -> HTTPHeaders {
        var answer = HTTPHeaders()
        answer.reserveCapacity(6)
        answer.add(
            name: "Content-Type", value: stream == nil ? "application/json; charset=utf-8" : "text/event-stream")
        CORSHeaders.add(to: &answer, headers, policy: trigger.cors)
        return answer
    }

    private func log(_ message: StaticString, reason: String) {
        loop.logRefusal(
            message, of: request.address, ["function": "\(function.manifest.name)", "reason": "\(reason)"])
    }
}
