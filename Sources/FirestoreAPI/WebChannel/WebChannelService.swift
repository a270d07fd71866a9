package import DocumentModel
package import DocumentStore
package import SecurityRules
package import Sharing
import HTTPTypes
import Hummingbird
import NIOCore
import Synchronization

/// Firestore's Listen and Write for the web SDK: `/google.firestore.v1.Firestore/{Listen|Write}/channel`.
///
/// A session lives as long as its client has a back channel open or opens the next one soon.
package final class WebChannelService: Sendable {
    private struct State {
        var sessions: [String: WebChannelSession] = [:]
        var byOwner: [UInt64: Int] = [:]
        var isClosed = false
    }

    private let store: DocumentStore
    private let database: DatabaseID
    private let service: StoreDocumentService
    private let rules: ClientRules
    private let limits: ClientLimits
    private let answers: MemoryBudget?
    private let figures: ClientFigures
    private let state = Mutex(State())

    package init(
        _ store: DocumentStore, database: DatabaseID, service: StoreDocumentService, rules: ClientRules,
        limits: ClientLimits = ClientLimits(), answers: MemoryBudget? = nil,
        figures: ClientFigures = ClientFigures()
    ) {
        self.figures = figures
        self.store = store
        self.database = database
        self.service = service
        self.rules = rules
        self.limits = limits
        self.answers = answers
        rules.onReplacement { [weak self] in self?.decideAgain() }
    }

    /// Ends all sessions: at once those that listen, and those that write once what they have received is done and
    /// answered. A client sends a write without an answer again, though it may be done: an increment would count twice.
    ///
    /// - Parameter patience: what passes until sessions end whose clients haven't taken their answers.
    package func close(
        patience: @escaping @Sendable () async -> Void = { try? await Task.sleep(for: .seconds(1)) }
    ) async {
        let sessions = state.withLock { state in
            state.isClosed = true
            return Array(state.sessions.values)
        }
        let (ended, continuation) = AsyncStream.makeStream(of: Void.self)
        let writing = sessions.filter { session in
            if session.end(.hostStops, onEnd: { continuation.yield() }) { return true }
            end(session)
            return false
        }
        let count = writing.count
        if count > 0 {
            await withTaskGroup(of: Void.self) { group in
                group.addTask {
                    for await _ in ended.prefix(count) {}
                }
                group.addTask { await patience() }
                _ = await group.next()
                group.cancelAll()
            }
        }
        for session in writing { end(session) }
    }

    /// Sends what shows that sessions live, and ends those that are over. To be called every ``keepAlive``.
    package func sweep(now: ContinuousClock.Instant = .now, time: Timestamp = .wallClock()) {
        for session in state.withLock({ Array($0.sessions.values) }) {
            check(session, at: time)
            if session.isOver(at: now, after: .seconds(limits.webChannel.patienceSeconds)) {
                end(session)
            } else {
                session.keepAlive()
            }
        }
    }

    /// Ends the streams whose tokens' keys have been revoked.
    package func checkTokens() {
        for session in state.withLock({ Array($0.sessions.values) }) where session.requester.isRevocable {
            check(session)
        }
    }

    private func check(_ session: WebChannelSession, at time: Timestamp = .wallClock()) {
        do throws(DocumentError) { try session.requester.check(at: time) } catch { session.refuseRest(error) }
    }

    package var keepAlive: Duration { .seconds(limits.webChannel.keepAliveSeconds) }

    /// Tells clients of quiet Listen streams that nothing has changed.
    package func refresh() {
        for session in state.withLock({ Array($0.sessions.values) }) { session.refresh() }
    }

    private func decideAgain() {
        for session in state.withLock({ Array($0.sessions.values) }) { session.decideAgain() }
    }

    private func end(_ session: WebChannelSession) {
        let isMine = state.withLock { state in
            guard state.sessions.removeValue(forKey: session.id) != nil else { return false }
            let left = (state.byOwner[session.owner] ?? 1) - 1
            state.byOwner[session.owner] = left == 0 ? nil : left
            return true
        }
        guard isMine else { return }
        figures.addWebSessions(-1)
        session.terminate()
    }

    private func session(_ id: String) -> WebChannelSession? { state.withLock { $0.sessions[id] } }

    // MARK: Requests

    func respond(
        to request: Request, on channel: any Channel, _ call: ClientCall,
        body: () async throws(DocumentError) -> (bytes: ByteBuffer, isWhole: Bool),
        requester: (_ authorization: String?, _ appCheck: String?) async throws(DocumentError) -> Requester
    ) async -> Response {
        let parsed: WebChannelRequest
        do throws(WebChannelRequest.Problem) {
            parsed = try WebChannelRequest(request)
        } catch {
            return Self.empty(error == .unknownMethod ? .notFound : .badRequest)
        }
        do throws(DocumentError) {
            switch parsed.kind {
            case .open(let hasKeepAlive):
                let (bytes, isWhole) = try await body()
                guard isWhole else { return Self.empty(.badRequest) }
                let size = bytes.readableBytes
                let form = try await LargeRequests.decode(size, of: call.address) { () throws(DocumentError) in
                    try Self.form(bytes)
                }
                let authorization = form.authorization ?? request.headers[.authorization]
                let who: Result<Requester, DocumentError>
                let appCheck = form.appCheck ?? request.appCheckToken
                do throws(DocumentError) { who = .success(try await requester(authorization, appCheck)) } catch {
                    who = .failure(error)
                }
                return try await LargeRequests.decode(size, of: call.address) { [who] () throws(DocumentError) in
                    try open(parsed.method, form, who, call, hasKeepAlive: hasKeepAlive)
                }
            case .forward(let id, let received):
                let (bytes, isWhole) = try await body()
                guard let session = session(id) else { return Self.unknownSession }
                // If the request failed, the SDK would send all of it again and again. So what is whole is taken, and
                // the stream ends after it.
                let answer = try await LargeRequests.decode(bytes.readableBytes, of: call.address) {
                    () throws(DocumentError) -> [UInt8]? in
                    let form = try Self.form(isWhole ? bytes : bytes.wholeFields)
                    return session.receive(
                        form.maps, lost: isWhole ? nil : form.offset + form.maps.count, received: received)
                }
                return answer.map(Self.text) ?? Self.unknownSession
            case .back(let id, let acknowledged, let isBuffered, let timeout):
                guard let session = session(id),
                    let (backChannel, news) = session.open(
                        isBuffered: isBuffered, acknowledged: acknowledged, on: channel)
                else { return Self.unknownSession }
                let seconds = limits.webChannel.keepAliveSeconds
                let time = isBuffered ? Self.pollTime(timeout, keepAliveSeconds: seconds) : nil
                return answer(session, backChannel, news, endingIn: time, on: channel)
            case .terminate(let id):
                guard let session = session(id) else { return Self.unknownSession }
                end(session)
                return Self.empty(.ok)
            }
        } catch {
            return Self.empty(error.code == .resourceExhausted ? .tooManyRequests : .badRequest)
        }
    }

    private static func form(_ body: ByteBuffer) throws(DocumentError) -> WebChannelForm {
        guard let form = WebChannelForm(body.readableBytesView) else {
            throw .invalidArgument("the form has invalid numbers, or too many fields")
        }
        return form
    }

    /// - Parameter who: for an invalid token, the stream begins with an error, after which the SDK gets a new one.
    private func open(
        _ method: WebChannelRequest.Method, _ form: WebChannelForm, _ who: Result<Requester, DocumentError>,
        _ call: ClientCall, hasKeepAlive: Bool
    ) throws(DocumentError) -> Response {
        let requester = (try? who.get()) ?? Requester(.client(nil))
        let principal = requester.principal
        let owner = StoreDocumentService.owner(of: principal, at: call.address)
        let session = WebChannelSession(
            id: Self.makeID(), owner: owner, requester: requester, limits: limits.webChannel, answers: answers,
            holder: principal.holder ?? .stranger(call.address ?? 0))
        let isTaken = state.withLock { state in
            guard !state.isClosed, state.sessions.count < limits.webChannel.sessions,
                principal == .admin || state.byOwner[owner] ?? 0 < limits.webChannel.sessionsPerClient
            else { return false }
            state.sessions[session.id] = session
            state.byOwner[owner, default: 0] += 1
            return true
        }
        guard isTaken else {
            throw DocumentError(.resourceExhausted, "too many streams are open; close some")
        }
        figures.addWebSessions(1)
        session.connect(endpoint(method, requester, call, session))
        if case .failure(let error) = who { session.fail(error) }
        // The key may have been revoked since its token was verified.
        if requester.isRevocable { check(session) }
        _ = session.receive(form.maps)
        session.pump()
        let keepAlive = hasKeepAlive ? ",\(limits.webChannel.keepAliveSeconds * 1000)" : ""
        return Self.text(WebChannelState.framed(Array("[[0,[\"c\",\"\(session.id)\",\"\",8,12\(keepAlive)]]]".utf8)))
    }

    private func endpoint(
        _ method: WebChannelRequest.Method, _ requester: Requester, _ call: ClientCall, _ session: WebChannelSession
    ) -> any StreamEndpoint {
        let json = StreamJSON(database: database)
        // On a thread of its own turn: the store's threads must not encode messages, and a stream may be in use.
        let onNews: @Sendable () -> Void = { [weak session] in
            Task { session?.pump() }
        }
        switch method {
        case .listen:
            let (service, address, principal) = (service, call.address, requester.principal)
            let stream = ListenStream(
                store, limits: limits.listen, context: { service.context(principal, at: address) }, onNews: onNews)
            return ListenEndpoint(stream, json, maxBytes: limits.listen.message, onNews: onNews)
        case .write:
            let holder = requester.principal.holder ?? .stranger(call.address ?? 0)
            return WriteEndpoint(
                WriteStream(service, as: requester, memory: answers, holder: holder), json, limits: limits.write,
                waiting: WaitingMessages(
                    limits.write, memory: answers, address: call.address ?? 0, identify: { holder }),
                call: ClientCall(address: call.address), onNews: onNews)
        }
    }

    /// How long a buffered answer may take: less than the time after which the client takes it for dead, and no more
    /// than the client says, which knows of a proxy that ends it earlier.
    ///
    /// - Parameter wanted: in milliseconds.
    static func pollTime(_ wanted: Int?, keepAliveSeconds: Int) -> TimeAmount {
        let most = keepAliveSeconds * 1000
        // The SDK asks for 5 s at least.
        return .milliseconds(Int64(min(max(wanted ?? most, 1000), most)))
    }

    /// - Parameter time: after which it ends though nothing has happened; nil for never.
    private func answer(
        _ session: WebChannelSession, _ backChannel: UInt64, _ news: AsyncStream<Void>, endingIn time: TimeAmount?,
        on channel: any Channel
    ) -> Response {
        let body = ResponseBody { writer in
            let end = time.map { time in
                channel.eventLoop.scheduleTask(in: time) { [weak session] in session?.endQuietly(backChannel) }
            }
            defer {
                end?.cancel()
                session.closed(backChannel)
            }
            for await _ in news {
                var next = session.next(for: backChannel)
                while case .chunk(let chunk) = next {
                    try await writer.write(ByteBuffer(bytes: chunk), inPartsOn: channel)
                    next = session.next(for: backChannel)
                }
                if next == .end { break }
            }
            try await writer.finish(nil)
        }
        return Response(status: .ok, headers: Self.headers, body: body)
    }

    /// Can't be guessed: knowing it makes a client that of the session.
    private static func makeID() -> String {
        (0..<2).map { _ in String(UInt64.random(in: .min ... .max), radix: 36) }.joined()
    }

    private static let headers: HTTPFields = {
        var headers: HTTPFields = [
            .contentType: "text/plain; charset=utf-8", .cacheControl: "private, max-age=0",
        ]
        if let name = HTTPField.Name("X-Content-Type-Options") { headers[name] = "nosniff" }
        return headers
    }()

    private static func text(_ bytes: [UInt8]) -> Response {
        Response(status: .ok, headers: headers, body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private static func empty(_ status: HTTPResponse.Status) -> Response { Response(status: status, headers: headers) }

    /// The SDK looks for the words "Unknown SID" behind the first character. Without them it takes the network for
    /// broken, which it tests by an image of google.com.
    private static var unknownSession: Response {
        Response(
            status: .badRequest, headers: headers,
            body: ResponseBody(byteBuffer: ByteBuffer(string: "Error: Unknown SID")))
    }
}
