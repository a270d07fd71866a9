import DocumentModel
import FunctionManifest
import TokenVerification
import WorkerProtocol
import Workers
import NIOCore
import NIOHTTP1

/// A request to an HTTP function and its answer.
final class HTTPExchange: Exchange, InvocationClient {
    private let request: GatewayRequest
    private let trigger: TriggerManifest.HTTPTrigger
    private let loop: GatewayLoop
    private unowned let connection: GatewayHandler
    private var invocation: Invocation?
    private var hasLeft = false
    /// The answer's head, kept until the first part or the end shows whether the answer is streamed.
    private var head: HTTPAnswerHead?
    private var isStreaming = false

    private var headers: HTTPHeaders { request.head.headers }

    init(
        _ request: GatewayRequest, _ trigger: TriggerManifest.HTTPTrigger, loop: GatewayLoop,
        connection: GatewayHandler
    ) {
        self.request = request
        self.trigger = trigger
        self.loop = loop
        self.connection = connection
    }

    func begin() {
        if request.head.method == .OPTIONS && trigger.cors != .off {
            let answer = CORSHeaders.preflight(
                headers, policy: trigger.cors, methods: "GET,HEAD,PUT,PATCH,POST,DELETE")
            return connection.send(.noContent, answer, body: ByteBuffer())
        }
        TokenCheck(headers, verifiers: loop.verifiers).run(on: loop.eventLoop) { [self] in submit($0) }
    }

    func clientLeft() {
        hasLeft = true
        invocation?.clientLeft()
    }

    private func submit(_ tokens: TokenCheck.Result) {
        guard !hasLeft else { return }
        switch tokens.idToken {
        case .unavailable: refuse(.keysUnavailable)
        case .valid(let identity, _): submit(tokens, as: identity)
        // HTTP functions may use the header for anything: a token that isn't ours identifies no user, and isn't refused.
        case .absent, .invalid: checkSession(tokens)
        }
    }

    private func submit(_ tokens: TokenCheck.Result, as user: InvocationHead.VerifiedIdentity?) {
        do throws(AdmissionRefusal) {
            let invocation = try request.match.function.admit(
                user: user, address: request.address, for: self, on: loop.invocations
            ) {
                var head = InvocationHead(
                    method: request.head.method.rawValue, target: request.match.target,
                    headers: HeaderBlock(headers.lazy.map { (name: $0.name, value: $0.value) }))
                if case .valid(let identity, _) = tokens.appCheck { head.app = identity }
                return InvocationRequest(head: head, body: .bytes(request.body))
            }
            self.invocation = invocation
        } catch {
            refuse(error.failure, retryAfter: error.retryAfterSeconds)
        }
    }

    /// Submits the request as the user of the cookie `__session`, which browsers send when they can't set a header.
    private func checkSession(_ tokens: TokenCheck.Result) {
        guard let cookie = sessionCookie else { return submit(tokens, as: nil) }
        let verifier = loop.verifiers.sessionCookie
        let outcome = verifier.verify(cookie)
        guard outcome == .needsKeys else { return submit(tokens, asSession: outcome) }
        let this = NIOLoopBound((self, tokens), eventLoop: loop.eventLoop)
        verifier.whenKeysArrive { [eventLoop = loop.eventLoop] in
            eventLoop.execute {
                let (exchange, tokens) = this.value
                if !exchange.hasLeft { exchange.submit(tokens, asSession: verifier.verify(cookie)) }
            }
        }
    }

    private func submit(_ tokens: TokenCheck.Result, asSession outcome: TokenVerifier.Outcome) {
        switch outcome {
        case .valid(let token): submit(tokens, as: .init(id: token.subject, claims: token.claims))
        case .invalid: submit(tokens, as: nil)
        // `needsKeys` after a fetch means that the fetch didn't bring the key.
        case .needsKeys, .unavailable: refuse(.keysUnavailable)
        }
    }

    private var sessionCookie: Substring? {
        for header in headers["Cookie"] {
            for pair in header.split(separator: ";") {
                let cookie = pair.drop { $0 == " " }
                if cookie.hasPrefix("__session=") { return cookie.dropFirst(10) }
            }
        }
        return nil
    }

    /// Answers a request that doesn't become an invocation.
    private func refuse(_ failure: InvocationFailure, retryAfter: Int64? = nil) {
        request.match.function.countRefusal(failure, now: loop.eventLoop.now)
        fail(failure, retryAfter: retryAfter)
    }

    // MARK: Answer

    func invocationSent(_ head: HTTPAnswerHead) {
        let headers = HeaderBlock(encoded: head.headers.encoded.withOwnStorage)
        self.head = HTTPAnswerHead(status: head.status, headers: headers)
    }

    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) {
        if !isStreaming, let head {
            isStreaming = true
            connection.sendHead(.init(statusCode: Int(head.status)), answerHeaders(head))
        }
        connection.sendChunk(AnswerPart(content: chunk), taken: taken)
    }

    func invocationAnswered(_ outcome: InvocationOutcome) {
        switch outcome {
        case .result(let body) where isStreaming:
            if !connection.sendEnd(AnswerPart(content: body)) { connection.close() }
        case .result(let body):
            let head = head ?? HTTPAnswerHead(status: 200, headers: HeaderBlock([]))
            let isSent = connection.send(
                .init(statusCode: Int(head.status)), answerHeaders(head), AnswerPart(content: body))
            if !isSent { fail(.tooManyAnswers) }
        case .failure, .notStarted, .lost:
            // The status is already sent, so the only way to report the failure is to cut off the body.
            if isStreaming { connection.close() } else { fail(outcome.failure ?? .internal) }
        }
    }

    /// - Parameter retryAfter: the number of seconds after which a retry may succeed.
    private func fail(_ failure: InvocationFailure, retryAfter: Int64? = nil) {
        var body = ByteBuffer()
        ErrorBody.write(failure, to: &body)
        var answer: HTTPHeaders = ["Content-Type": "application/json; charset=utf-8"]
        if let retryAfter { answer.add(name: "Retry-After", value: "\(retryAfter)") }
        CORSHeaders.add(to: &answer, headers, policy: trigger.cors)
        let isSent = connection.send(
            .init(statusCode: failure.code.httpStatus), answer, AnswerPart(content: body))
        // An error may have large details.
        if !isSent { fail(.tooManyAnswers) }
    }

    /// The headers that the function set, without those that the gateway sets itself.
    private func answerHeaders(_ head: HTTPAnswerHead) -> HTTPHeaders {
        var answer = HTTPHeaders()
        for (name, value) in head.sentHeaders { answer.add(name: name, value: value) }
        CORSHeaders.add(to: &answer, headers, policy: trigger.cors)
        return answer
    }
}
