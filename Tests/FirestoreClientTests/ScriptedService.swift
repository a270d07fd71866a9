import DocumentModel
@testable import FirestoreClient
import OutboundHTTP
import Synchronization
import Testing

/// A service that expects certain requests in order, and returns their scripted responses.
final class ScriptedService: OutboundTransport {
    struct Step: Sendable {
        /// The end of the URL.
        var address: String
        /// A part of the body; nil for a GET.
        var body: String?
        var token: String?
        var answer: Result<OutboundResponse, OutboundError>
        /// Awaited before the response.
        var gate: AsyncStream<Void>?

        /// A request for documents, whose body contains the given text.
        init(_ verb: String, with body: String = "", token: String? = nil, status: Int = 200, _ answer: String) {
            self.init(
                address: verb, body: body, token: token,
                answer: .success(OutboundResponse(status: status, body: Array(answer.utf8))))
        }

        init(address: String, body: String?, token: String? = nil, answer: Result<OutboundResponse, OutboundError>) {
            self.address = address
            self.body = body
            self.token = token
            self.answer = answer
        }

        static func failure(_ verb: String, _ kind: OutboundError.Kind) -> Step {
            Step(address: verb, body: "", answer: .failure(OutboundError(kind, host: "firestore.test", "why")))
        }

        /// A request for an access token.
        static func token(_ text: String, lifetime: Int, status: Int = 200) -> Step {
            let answer = #"{"access_token":"\#(text)","expires_in":\#(lifetime),"token_type":"Bearer"}"#
            return Step(
                address: "/computeMetadata/v1/instance/service-accounts/default/token", body: nil,
                answer: .success(OutboundResponse(status: status, body: Array(answer.utf8))))
        }
    }

    private let steps: Mutex<ArraySlice<Step>>
    private let requests = Mutex<[OutboundRequest]>([])
    /// Awaited before each response.
    private let gate: AsyncStream<Void>?

    init(_ steps: [Step], gate: AsyncStream<Void>? = nil) {
        self.steps = Mutex(steps[...])
        self.gate = gate
    }

    var isDone: Bool { steps.withLock { $0.isEmpty } }
    var seen: [OutboundRequest] { requests.withLock { $0 } }

    func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
        requests.withLock { $0.append(request) }
        if let gate { for await _ in gate {} }
        guard let step = steps.withLock({ $0.popFirst() }) else {
            Issue.record("no further request was expected: \(request.address)")
            throw OutboundError(.timedOut, host: "firestore.test", "unexpected")
        }
        let body = request.body.map { String(decoding: $0, as: UTF8.self) }
        #expect(request.address.hasSuffix(step.address))
        #expect((body == nil) == (step.body == nil))
        if let part = step.body, !part.isEmpty { #expect((body ?? "").contains(part), "\(body ?? "")") }
        if let token = step.token { #expect(request.headers["Authorization"] == "Bearer \(token)") }
        if let gate = step.gate { for await _ in gate {} }
        return try step.answer.get()
    }
}

/// The outcome of an operation.
func outcome<Answer>(
    _ operation: () async throws(DocumentError) -> Answer
) async -> Result<Answer, DocumentError> {
    do throws(DocumentError) { return .success(try await operation()) } catch { return .failure(error) }
}

/// A remote Firestore over a script.
struct ScriptedFirestore {
    static let root = "projects/demo-shop/databases/(default)/documents"
    static let time = "1970-01-01T00:00:01.000001Z"

    let script: ScriptedService
    let firestore: RemoteFirestore
    /// The pauses in seconds, in order.
    let pauses: PauseLog

    final class PauseLog: Sendable {
        private let seconds = Mutex<[Double]>([])
        var all: [Double] { seconds.withLock { $0 } }
        func add(_ pause: Double) { seconds.withLock { $0.append(pause) } }
    }

    init(tokens: AccessTokens? = nil, _ steps: [ScriptedService.Step]) {
        let script = ScriptedService(steps)
        self.init(script, tokens: tokens)
    }

    init(_ script: ScriptedService, tokens: AccessTokens? = nil) {
        self.script = script
        let pauses = PauseLog()
        self.pauses = pauses
        firestore = RemoteFirestore(
            service: FirestoreService(
                database: DatabaseID(project: "demo-shop"), origin: "https://firestore.test", transport: script,
                tokens: tokens, pause: { pauses.add($0) }),
            now: { Timestamp(microseconds: 9_000_000) })
    }
}
