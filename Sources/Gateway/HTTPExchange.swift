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
    /// The answer's head, until its first part or its end tells whether it is streamed.
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
        if let invocation { loop.invocations.clientLeft(invocation) }
    }

    private func submit(_ tokens: TokenCheck.Result) {
        guard !hasLeft else { return }
        if case .unavailable = tokens.idToken { return invocationEnded(.failure(.keysUnavailable)) }
        let function = request.match.function
        var head = InvocationHead(executionID: ExecutionID.next(), timeLeft: 0)
        // The header may be used for anything here: a token that is none of ours is not this function's caller.
        if case .valid(let identity, _) = tokens.idToken { head.auth = identity } else { head.auth = session() }
        if let limiter = function.limiter,
            let refusal = limiter.refuse(user: head.auth?.id, address: request.address, now: loop.eventLoop.now)
        {
            return fail(.rateLimited(refusal, function.manifest.name), retryAfter: refusal.retryAfter)
        }
        if let refusal = function.gate.admit() { return fail(.refused(refusal, function.manifest.name)) }
        if case .valid(let identity, _) = tokens.appCheck { head.app = identity }
        head.method = request.head.method.rawValue
        head.target = request.match.target
        head.headers = HeaderBlock(headers.lazy.map { (name: $0.name, value: $0.value) })
        let invocation = Invocation(
            id: loop.invocations.nextID(), pool: function.pool, head: head, body: request.body,
            deadline: loop.eventLoop.now + .seconds(Int64(function.manifest.timeoutSeconds)), completionKey: nil,
            client: self)
        invocation.address = request.address
        if function.gate.hasBudget { invocation.observer = MeteredRun(function.gate, on: loop.eventLoop) }
        self.invocation = invocation
        loop.invocations.submit(invocation)
    }

    /// Who the cookie `__session` speaks of, which browsers send where they have no header to set.
    private func session() -> InvocationHead.VerifiedIdentity? {
        for header in headers["Cookie"] {
            for pair in header.split(separator: ";") {
                let cookie = pair.drop { $0 == " " }
                guard cookie.hasPrefix("__session=") else { continue }
                guard case .valid(let token) = loop.verifiers.sessionCookie.verify(cookie.dropFirst(10)) else {
                    return nil
                }
                return .init(id: token.subject, claims: token.claims)
            }
        }
        return nil
    }

    // MARK: Answer

    func invocationSent(_ head: HTTPAnswerHead) { self.head = head }

    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) {
        if !isStreaming, let head {
            isStreaming = true
            connection.sendHead(.init(statusCode: Int(head.status)), answerHeaders(head))
        }
        connection.sendChunk(chunk, taken: taken)
    }

    func invocationEnded(_ outcome: InvocationOutcome) {
        switch outcome {
        case .result(let body) where isStreaming:
            connection.sendEnd(body)
        case .result(let body):
            let head = head ?? HTTPAnswerHead(status: 200, headers: HeaderBlock([]))
            connection.send(.init(statusCode: Int(head.status)), answerHeaders(head), body: body)
        case .failure where isStreaming:
            // Its status is with the client already; a cut-off body is the only sign left.
            connection.breakOff()
        case .failure(let failure):
            fail(failure)
        }
    }

    /// - Parameter retryAfter: seconds after which another try makes sense.
    private func fail(_ failure: InvocationFailure, retryAfter: Int64? = nil) {
        var body = ByteBuffer()
        ErrorBody.write(failure, to: &body)
        var answer: HTTPHeaders = ["Content-Type": "application/json; charset=utf-8"]
        if let retryAfter { answer.add(name: "Retry-After", value: "\(retryAfter)") }
        CORSHeaders.add(to: &answer, headers, policy: trigger.cors)
        connection.send(.init(statusCode: failure.code.httpStatus), answer, body: body)
    }

    /// What the function set, less what is the gateway's own business.
    private func answerHeaders(_ head: HTTPAnswerHead) -> HTTPHeaders {
        var answer = HTTPHeaders()
        CORSHeaders.add(to: &answer, headers, policy: trigger.cors)
        for (name, value) in head.sentHeaders { answer.add(name: name, value: value) }
        return answer
    }
}
