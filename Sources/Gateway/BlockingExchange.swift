import DocumentModel
import FunctionManifest
import Logging
import NIOCore
import NIOHTTP1
import StrictJSON
import TokenVerification
import WorkerProtocol
import Workers

/// A call of Google's sign-in, which asks a function whether a user may sign up or sign in, and waits for its answer.
///
/// The body is `{"data":{"jwt":…}}`: the event is the claims of a token that Google has signed.
final class BlockingExchange: Exchange, InvocationClient {
    private let request: GatewayRequest
    private let trigger: TriggerManifest.BlockingTrigger
    private let verifier: TokenVerifier
    private let loop: GatewayLoop
    private unowned let connection: GatewayHandler
    private var invocation: Invocation?
    private var hasLeft = false

    /// A token has at most 16 KiB. What is larger is refused before anything of it is read: anyone may send it.
    private static let maxBody = 64 * 1024

    private static let headers: HTTPHeaders = ["Content-Type": "application/json; charset=utf-8"]

    private var function: ServedFunction { request.match.function }

    init(
        _ request: GatewayRequest, _ trigger: TriggerManifest.BlockingTrigger, verifier: TokenVerifier,
        loop: GatewayLoop, connection: GatewayHandler
    ) {
        self.request = request
        self.trigger = trigger
        self.verifier = verifier
        self.loop = loop
        self.connection = connection
    }

    func begin() {
        guard request.head.method == .POST, request.body.readableBytes <= Self.maxBody,
            let data = try? EnvelopeScanner.data(in: request.body),
            let token = (try? JSONNode(parsing: Array(data.readableBytesView)))?["jwt"]?.text
        else { return refuse(.badRequest, reason: #"it isn't a POST of {"data":{"jwt":…}} of at most 64 KiB"#) }
        let outcome = verifier.verify(token)
        guard outcome == .needsKeys else { return admit(outcome) }
        let exchange = NIOLoopBound(self, eventLoop: loop.eventLoop)
        verifier.whenKeysArrive { [verifier, loop = loop.eventLoop] in
            loop.execute { exchange.value.admit(verifier.verify(token)) }
        }
    }

    func clientLeft() {
        hasLeft = true
        invocation?.clientLeft()
    }

    private func admit(_ outcome: TokenVerifier.Outcome) {
        guard !hasLeft else { return }
        let event: ByteBuffer
        switch outcome {
        case .valid(let token): event = token.claims
        case .invalid(let rejection): return refuse(.unauthenticated, reason: rejection.message)
        case .needsKeys, .unavailable: return refuse(.keysUnavailable, reason: "Google's keys can't be fetched")
        }
        let claims = try? JSONNode(parsing: Array(event.readableBytesView))
        let type = claims?["event_type"]?.text
        guard type == trigger.moment.rawValue else {
            return refuse(.badRequest, reason: "its event_type is \(type ?? "missing")")
        }
        // Of the client that signs in: the request comes from Google for all of them.
        let address = claims?["ip_address"]?.text.flatMap { IPAddress($0) }
        do throws(AdmissionRefusal) {
            invocation = try function.admit(address: address, for: self, on: loop.invocations) {
                InvocationRequest(
                    head: InvocationHead(headers: HeaderBlock([("Content-Type", "application/json")])),
                    body: .bytes(event))
            }
        } catch {
            function.countRefusal(error.failure, now: loop.eventLoop.now)
            fail(error.failure)
        }
    }

    private func refuse(_ failure: InvocationFailure, reason: String) {
        loop.logRefusal(
            "a call of a blocking function was refused", of: request.address,
            ["function": "\(function.manifest.name)", "reason": "\(reason)"])
        function.countRefusal(failure, now: loop.eventLoop.now)
        fail(failure)
    }

    // MARK: Answer

    func invocationSent(_ head: HTTPAnswerHead) {}
    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) { taken() }

    func invocationAnswered(_ outcome: InvocationOutcome) {
        if case .result(let result) = outcome {
            if !connection.send(.ok, Self.headers, AnswerPart(content: result)) { fail(.tooManyAnswers) }
        } else {
            fail(outcome.failure ?? .internal)
        }
    }

    private func fail(_ failure: InvocationFailure) {
        var body = ByteBuffer()
        ErrorBody.write(failure, to: &body)
        connection.send(.init(statusCode: failure.code.httpStatus), Self.headers, body: body)
    }
}
