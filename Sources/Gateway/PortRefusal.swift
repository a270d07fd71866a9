import Logging
import NIOCore
import NIOHTTP1
import WorkerProtocol

/// An answer of a port instead of its server's.
struct PortRefusal {
    private let answer: LocalHosts.Refusal
    let isHEAD: Bool
    /// The page that sent the request, which may read why it was refused.
    private let origin: String?
    private let client: IPAddress?
    private let isText: Bool

    /// - Parameter rules: of the port.
    init(
        _ answer: LocalHosts.Refusal, isHEAD: Bool, _ headers: HTTPHeaders, _ client: IPAddress?, by rules: PortRules
    ) {
        self.client = client
        self.answer = answer
        isText = rules.hasSignIn && answer.mayPass
        self.isHEAD = isHEAD
        origin = headers.first(name: "Origin")
    }

    var body: ByteBuffer { isText ? ByteBuffer(string: answer.message) : ByteBuffer(bytes: answer.json) }

    func head(bodyBytes: Int) -> HTTPResponseHead {
        var headers: HTTPHeaders = [
            "Content-Type": "\(isText ? "text/plain" : "application/json"); charset=utf-8",
            "Content-Length": "\(bodyBytes)", "Connection": "close",
        ]
        if let origin {
            headers.add(name: "Access-Control-Allow-Origin", value: origin)
            headers.add(name: "Vary", value: "Origin")
        }
        return HTTPResponseHead(version: .http1_1, status: answer.status, headers: headers)
    }

    func log(by rules: PortRules, now: NIODeadline) {
        let status = answer.status.code
        rules.refusals?.log(
            "a request was refused", kind: "\(rules.name) status \(status)", of: client, level: .info, now: now,
            ["port": "\(rules.name)", "status": "\(status)", "reason": "\(answer.message)"])
    }
}

extension LocalHosts.Refusal {
    /// Whether the same request may be answered later.
    fileprivate var mayPass: Bool { status.code >= 500 || status == .tooManyRequests || status == .requestTimeout }

    static let tooManyBodies = Self(
        status: .serviceUnavailable, message: InvocationFailure.tooManyBodies.message)

    static let tooManyAnswers = Self(
        status: .tooManyRequests, message: InvocationFailure.tooManyAnswers.message)

    static func tooSlow(_ time: TimeAmount) -> Self {
        Self(status: .requestTimeout, message: InvocationFailure.tooSlow(time).message)
    }
}
