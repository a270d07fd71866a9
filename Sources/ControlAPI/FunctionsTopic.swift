import Sharing
import ControlProtocol
package import Deployments
package import DocumentModel
import FunctionManifest
import Gateway
import HTTPTypes
package import Hummingbird
import HummingbirdCore
import NIOCore
import StrictJSON
import WorkerProtocol
package import Workers

/// The commands `list` and `call` on the running host.
package struct FunctionsTopic: ControlTopic {
    package struct Parts: Sendable {
        package var project: String
        package var served: ReleaseSwitch
        package var loops: [InvocationLoop]
        package var now: @Sendable () -> Timestamp
        /// Why functions are paused, by name.
        package var pauses: @Sendable () -> [String: String]

        package init(
            project: String, served: ReleaseSwitch, loops: [InvocationLoop], now: @escaping @Sendable () -> Timestamp,
            pauses: @escaping @Sendable () -> [String: String]
        ) {
            self.project = project
            self.served = served
            self.loops = loops
            self.now = now
            self.pauses = pauses
        }
    }

    package let parts: Parts

    /// As large as a client's call may be.
    private static let maxData = 10 * 1024 * 1024

    package init(_ parts: Parts) { self.parts = parts }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("functions/list") { _ in listing }
        routes.post("functions/call") { request, _ in
            let lines: AsyncStream<CommandCall.Line>
            do {
                let parameters = try ControlParameters(query: request.uri.query)
                let data = try await request.body.collect(upTo: Self.maxData)
                lines = try await call(parameters, data)
            } catch {
                let error =
                    error as? DocumentError ?? DocumentError(.invalidArgument, "the call can't be read: \(error)")
                return Response(
                    status: .badRequest, body: .init(byteBuffer: ByteBuffer(bytes: DataWire.line(error))))
            }
            return Response(
                status: .ok, headers: [.contentType: "application/x-ndjson"],
                body: ResponseBody { writer in
                    for await line in lines {
                        try await writer.write(ByteBuffer(bytes: try ControlResponse.line(line.content)))
                        line.written()
                    }
                    try await writer.finish(nil)
                })
        }
    }

    private var listing: FunctionListing {
        let pauses = parts.pauses()
        let (project, now) = (parts.project, parts.loops[0].eventLoop.now)
        return FunctionListing(
            functions: parts.served.current.overview.map { entry in
                let manifest = entry.function.manifest
                let counts = entry.function.calls.counts
                return FunctionReport(
                    name: manifest.name, bundle: entry.bundle, release: entry.release,
                    trigger: manifest.trigger.summary(
                        urls: manifest.regions.map { "/\(project)/\($0)/\(manifest.name)" }),
                    paused: pauses[manifest.name], workers: entry.function.pool.readyWorkers,
                    callsLastMinute: entry.function.calls.lastMinute(now: now), calls: counts.calls,
                    failures: counts.failures, medianSeconds: counts.duration.bound(of: 0.5),
                    p95Seconds: counts.duration.bound(of: 0.95))
            })
    }

    /// Calls a callable function as a user, without a token: only the data directory's owner can.
    private func call(_ parameters: ControlParameters, _ data: ByteBuffer) async throws -> AsyncStream<CommandCall.Line>
    {
        let name = try parameters.required("name")
        let functions = parts.served.current.overview.map(\.function)
        guard let function = functions.first(where: { $0.manifest.name == name }) else {
            let nearest = NearestFunction.of(name, in: functions.map(\.manifest))
            throw DocumentError(
                .notFound, "there is no function \(name)" + (nearest.map { "; did you mean \($0)?" } ?? ""))
        }
        guard case .callable(let trigger) = function.manifest.trigger else {
            throw DocumentError(
                .failedPrecondition,
                "\(name) isn't a callable function but \(function.manifest.trigger.summary(urls: [])); "
                    + "send HTTP functions a request, run schedules with \"schedules run\", and change a document, "
                    + "enqueue a task or publish an event for the others")
        }
        do throws(JSONProblem) {
            _ = try JSONNode(parsing: Array(data.readableBytesView))
        } catch {
            throw DocumentError.invalidArgument("the data isn't JSON: \(error.message), at byte \(error.offset)")
        }
        let user = try parameters["uid"].map { try identity($0, claims: parameters["claims"]) }
        let loop = parts.loops[0]
        let (lines, continuation) = AsyncStream.makeStream(of: CommandCall.Line.self)
        let streams = parameters.has("stream")
        try await loop.eventLoop.submit {
            let call = CommandCall(continuation, loop.eventLoop)
            do throws(AdmissionRefusal) {
                let invocation = try function.admit(user: user, for: call, on: loop) {
                    InvocationRequest(
                        head: InvocationHead(
                            streams: streams, headers: HeaderBlock([("Content-Type", "application/json")])),
                        body: .bytes(data),
                        completionKey: trigger.hasIdempotencyKey
                            ? CompletionKey(function: name, uid: user?.id, key: "", data: data) : nil)
                }
                call.begin(invocation)
            } catch {
                function.countRefusal(error.failure, now: loop.eventLoop.now)
                call.invocationAnswered(.notStarted(error.failure))
            }
        }.get()
        return lines
    }

    private func identity(_ uid: String, claims: String?) throws -> InvocationHead.VerifiedIdentity {
        let now = parts.now().seconds
        var all: [(String, JSONValue)] = [
            ("iss", .string("https://securetoken.google.com/\(parts.project)")), ("aud", .string(parts.project)),
            ("auth_time", .integer(now)), ("iat", .integer(now)), ("exp", .integer(now + 3600)),
            ("sub", .string(uid)), ("user_id", .string(uid)),
            ("firebase", ["identities": [:], "sign_in_provider": "custom"]),
        ]
        if let claims {
            guard case .object(let object) = try JSONValue(parsing: Array(claims.utf8)) else {
                throw DocumentError.invalidArgument("the claims aren't a JSON object")
            }
            let names = Set(object.map(\.key))
            all.removeAll { names.contains($0.0) }
            all += object.map { ($0.key, $0.value) }
        }
        return .init(id: uid, claims: ByteBuffer(bytes: try JSONValue.object(JSONObject(all)).serialized()))
    }
}

/// The client of a command's call. Belongs to its loop.
private final class CommandCall: InvocationClient {
    struct Line: Sendable {
        var content: CallLine
        /// Lets the function send more.
        var written: @Sendable () -> Void = {}
    }

    private let lines: AsyncStream<Line>.Continuation
    private let loop: any EventLoop
    private weak var invocation: Invocation?

    init(_ lines: AsyncStream<Line>.Continuation, _ loop: any EventLoop) {
        self.lines = lines
        self.loop = loop
    }

    func begin(_ invocation: Invocation) {
        self.invocation = invocation
        let this = NIOLoopBound(self, eventLoop: loop)
        lines.onTermination = { [loop] reason in
            guard case .cancelled = reason else { return }
            loop.execute { this.value.invocation?.clientLeft() }
        }
    }

    func invocationSent(_ head: HTTPAnswerHead) {}

    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) {
        let taken = NIOLoopBound(taken, eventLoop: loop)
        lines.yield(
            Line(content: CallLine(chunk: String(buffer: chunk))) { [loop] in loop.execute { taken.value() } })
    }

    func invocationAnswered(_ outcome: InvocationOutcome) {
        switch outcome {
        case .result(let result): lines.yield(Line(content: CallLine(result: String(buffer: result))))
        case .failure, .notStarted, .lost:
            let failure = outcome.failure ?? .internal
            lines.yield(
                Line(
                    content: CallLine(
                        status: failure.code.wireName, message: failure.message,
                        details: failure.details.map { String(buffer: $0) })))
        }
        lines.finish()
    }
}
