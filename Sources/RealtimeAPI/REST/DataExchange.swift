import DocumentModel
import NIOCore
import NIOHTTP1
import RealtimeModel
import Sharing
import StrictJSON

/// A REST request for data, a stream, or a setting.
final class DataExchange: EventStreamOwner {
    private let head: HTTPRequestHead
    private let connection: RESTConnection
    private let body: RESTBodyText
    /// Once it is verified, which begins with the body of a large write.
    private var bearer: Result<RealtimeCredentials.Bearer, RealtimeServiceError>?
    private var isVerifying = false
    private var isInGate = false
    private var answer: RESTAnswer?
    private var stream: (any EventStream)?
    private var setting: SettingExchange?
    private var cancellation: OperationCancellation?
    private var hasLeft = false
    private var timeout: Scheduled<Void>?

    private var loop: RealtimeLoop { connection.loop }
    private var queue: ConnectionQueue { connection.queue }
    private var parts: RealtimeParts { connection.loop.parts }

    init(_ head: HTTPRequestHead, _ connection: RESTConnection) {
        self.head = head
        self.connection = connection
        body = RESTBodyText(connection.loop.parts.spool)
    }

    // MARK: Connection

    func receive(_ bytes: ByteBuffer) {
        body.append(bytes, holder: holder ?? .stranger(connection.address))
        guard !body.isInMemory else { return }
        connection.releaseBody()
        guard body.waitingBytes > Self.maxWaitingBytes else { return }
        // The disk is slower than the client.
        connection.pauseBody(true)
        let exchange = NIOLoopBound(self, eventLoop: loop.eventLoop)
        body.whenWritten { [queue] in queue.post { exchange.value.connection.pauseBody(false) } }
    }

    var holdsBody: Bool { body.isInMemory }

    private static let maxWaitingBytes = 4 * 1024 * 1024

    /// Who holds the body, as far as is known. A token is looked at for a large one only.
    var holder: MemoryBudget.Holder? {
        if !isVerifying {
            isVerifying = true
            if let request = try? RESTRequest(head, for: parts.databaseNames) {
                verify(request) { exchange, result in exchange.bearer = result }
            }
        }
        guard case .success(let bearer)? = bearer else { return nil }
        return bearer.principal.memoryHolder
    }

    func clientIsReady() {
        answer?.clientIsReady()
        stream?.clientIsReady()
    }

    func clientLeft() {
        hasLeft = true
        cancellation?.cancel()
        answer?.cancel()
        stream?.cancel()
        setting?.clientLeft()
        timeout?.cancel()
        _ = body.take()
    }

    func stop() { stream?.stop() }

    func endIfRevoked() { stream?.endIfRevoked() }

    func begin() {
        do throws(RESTRefusal) {
            let request = try RESTRequest(head, for: parts.databaseNames)
            if request.verb == .preflight {
                return connection.send(.noContent, CORS.preflight(head.headers), ByteBuffer())
            }
            let database: any RealtimeDatabase
            do throws(RealtimeServiceError) {
                database = try parts.service.database(request.database)
            } catch {
                throw RESTRefusal(error)
            }
            authenticate(request, database)
        } catch {
            refuse(error)
        }
    }

    // MARK: Credentials

    private func authenticate(_ request: RESTRequest, _ database: any RealtimeDatabase) {
        @Sendable func go(_ exchange: DataExchange, _ bearer: Result<RealtimeCredentials.Bearer, RealtimeServiceError>)
        {
            switch bearer {
            case .success(let bearer): exchange.checkApp(request, database, bearer)
            case .failure(let error): exchange.refuse(RESTRefusal(error))
            }
        }
        if let bearer { go(self, bearer) } else { verify(request, go) }
    }

    /// - Parameter completion: called on the loop, at once if no key has to be fetched.
    private func verify(
        _ request: RESTRequest,
        _ completion:
            @escaping @Sendable (
                DataExchange, Result<RealtimeCredentials.Bearer, RealtimeServiceError>
            ) -> Void
    ) {
        guard case .token(let token, let isHeader) = request.credential else {
            return completion(
                self, request.override == nil ? .success(.init(.client(nil))) : .failure(.permissionDenied))
        }
        let exchange = NIOLoopBound(self, eventLoop: loop.eventLoop)
        parts.credentials.bearer(
            of: token, override: request.override, allowsOwner: isHeader && !parts.isForeign(head)
        ) { [queue] result in
            if queue.loop.eventLoop.inEventLoop {
                completion(exchange.value, result)
            } else {
                queue.post { completion(exchange.value, result) }
            }
        }
    }

    private func checkApp(
        _ request: RESTRequest, _ database: any RealtimeDatabase, _ bearer: RealtimeCredentials.Bearer
    ) {
        guard let verify = parts.credentials.verifyApp, !bearer.principal.isAdmin else {
            return perform(request, database, bearer)
        }
        let exchange = NIOLoopBound(self, eventLoop: loop.eventLoop)
        verify(request.appToken) { [queue] admission in
            queue.post {
                let end: Int64?
                switch admission {
                case .admitted(let until): end = until
                case .refused: return exchange.value.refuse(RESTRefusal(.unverifiedApp))
                case .unavailable: return exchange.value.refuse(RESTRefusal(.appKeysUnavailable))
                }
                // A stream ends with the first of both tokens.
                var bearer = bearer
                if let end { bearer.until = min(bearer.until ?? end, end) }
                exchange.value.perform(request, database, bearer)
            }
        }
    }

    // MARK: Requests

    private func perform(_ request: RESTRequest, _ database: any RealtimeDatabase, _ bearer: RealtimeCredentials.Bearer)
    {
        guard !hasLeft else { return }
        do throws(RESTRefusal) {
            switch request.place {
            case .data(let target):
                if request.options.disablesTriggers, !bearer.principal.isAdmin { throw RESTRefusal(.permissionDenied) }
                if request.verb != .get { return write(target, request, database, bearer.principal) }
                guard request.isStream else { return read(target, request, database, bearer.principal, status: .ok) }
                guard !target.isPriority else { throw RESTRefusal(400, "Invalid path: Invalid token in path") }
                listen(target.path, request, database, bearer)
            case .setting(let name):
                guard bearer.principal.isAdmin else { throw RESTRefusal(.permissionDenied) }
                if name == "profile", request.verb == .get { return try watch(request, database, bearer) }
                let setting = SettingExchange(name, request, database, connection)
                self.setting = setting
                try setting.begin(body)
            case .databases:
                guard bearer.principal.isAdmin else { throw RESTRefusal(.permissionDenied) }
                try listDatabases()
            }
        } catch {
            refuse(error)
        }
    }

    private func refuse(_ refusal: RESTRefusal) {
        leaveGate()
        timeout?.cancel()
        guard !hasLeft else { return }
        connection.refuse(refusal)
    }

    // MARK: Reads

    /// - Parameter status: 412 for the answer to a condition that doesn't hold.
    private func read(
        _ target: RealtimeTarget, _ request: RESTRequest, _ database: any RealtimeDatabase,
        _ principal: RealtimePrincipal, status: HTTPResponseStatus
    ) {
        let isConflict = status == .preconditionFailed
        let wantsHash = isConflict || request.wantsETag || request.ifNoneMatch != nil
        let form: RealtimeRead.Form =
            if target.isPriority {
                .priority
            } else if request.isShallow, !isConflict {
                .shallow
            } else {
                .value(request.form)
            }
        var read = RealtimeRead(
            target.path, query: isConflict || target.isPriority ? nil : request.query, form: form, wantsHash: wantsHash)
        read.showsEmptyResult = true
        cancellation = read.cancellation
        let exchange = NIOLoopBound(self, eventLoop: loop.eventLoop)
        if let milliseconds = request.timeoutMilliseconds {
            timeout = loop.eventLoop.scheduleTask(in: .milliseconds(milliseconds)) { exchange.value.readTimedOut() }
        }
        database.read(read, as: principal, for: connection.client) { [queue] result in
            queue.post { exchange.value.finishRead(result, request, status) }
        }
    }

    private func readTimedOut() {
        guard !hasLeft, answer == nil else { return }
        cancellation?.cancel()
        refuse(RESTRefusal(503, "The read took longer than its timeout."))
        hasLeft = true
    }

    private func finishRead(
        _ result: Result<RealtimeReading, RealtimeServiceError>, _ request: RESTRequest, _ status: HTTPResponseStatus
    ) {
        cancellation = nil
        timeout?.cancel()
        guard !hasLeft else {
            if case .success(let reading) = result, case .stream(let stream, _) = reading.content { stream.cancel() }
            return
        }
        switch result {
        case .failure(let error): refuse(RESTRefusal(error))
        case .success(let reading):
            let answer = RESTAnswer(request, connection)
            self.answer = answer
            answer.send(reading, status)
        }
    }

    // MARK: Writes

    private func write(
        _ target: RealtimeTarget, _ request: RESTRequest, _ database: any RealtimeDatabase,
        _ principal: RealtimePrincipal
    ) {
        let exchange = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let name = request.verb == .post ? loop.parts.pushIDs.next(now: parts.now()) : nil
        let cancellation = OperationCancellation()
        self.cancellation = cancellation
        let reader = RESTWriteReader(
            request, target, name: name, to: database, as: principal, for: connection.client, until: cancellation)
        let content = body.take()
        let bytes = content.bytes
        // The memory of a body that isn't in a file is counted until the answer: the nodes of the write have at least as much.
        @Sendable func read() {
            reader.read(content, on: exchange.value.queue) { result in
                let exchange = exchange.value
                switch result {
                case .failure(let refusal): exchange.refuse(refusal)
                case .success(let write): exchange.commit(write, bytes, target, name, request, database, principal)
                }
            }
        }
        guard content.bytes > RESTWriteReader.largeBody else { return read() }
        parts.largeWrites.enter(of: connection.client.address) { [queue] in
            queue.post {
                exchange.value.isInGate = true
                guard !exchange.value.hasLeft else { return exchange.value.leaveGate() }
                read()
            }
        }
    }

    private func leaveGate() {
        guard isInGate else { return }
        isInGate = false
        parts.largeWrites.leave()
    }

    private func commit(
        _ write: RealtimeWrite, _ bytes: Int, _ target: RealtimeTarget, _ name: RealtimeKey?,
        _ request: RESTRequest, _ database: any RealtimeDatabase, _ principal: RealtimePrincipal
    ) {
        guard !hasLeft else { return leaveGate() }
        var options = request.options
        options.wantsHash = request.ifMatch != nil || request.wantsETag
        options.cancellation = cancellation
        options.wantsChanges = request.printing != .silent && (request.verb == .put || request.verb == .patch)
        let exchange = NIOLoopBound(self, eventLoop: loop.eventLoop)
        let (longWork, largeWork, client) = (parts.longWork, parts.largeWork, connection.client)
        database.write(write, options, as: principal, for: client) { [queue] result in
            @Sendable func answer() -> Result<WriteAnswer, RealtimeServiceError> {
                result.map { WriteAnswer($0, target, name, to: request) }
            }
            @Sendable func finish(_ answer: Result<WriteAnswer, RealtimeServiceError>) {
                exchange.value.finishWrite(answer, target, request, database, principal)
            }
            guard bytes > RESTWriteReader.smallBody else { return queue.post { finish(answer()) } }
            // What was written is in the answer, which the loop's other connections would wait for.
            @Sendable func make() {
                let written = answer()
                queue.post { finish(written) }
            }
            if bytes > RESTWriteReader.largeBody {
                largeWork.add(make)
            } else {
                longWork.add(of: client.address, make)
            }
        }
    }

    private func finishWrite(
        _ result: Result<WriteAnswer, RealtimeServiceError>, _ target: RealtimeTarget, _ request: RESTRequest,
        _ database: any RealtimeDatabase, _ principal: RealtimePrincipal
    ) {
        leaveGate()
        switch result {
        case .success(let written):
            guard !hasLeft else { return }
            let answer = RESTAnswer(request, connection)
            self.answer = answer
            answer.send(written)
        case .failure(.stale) where request.ifMatch != nil:
            // The client sees what there is by a read of its own, which the rules may refuse.
            read(target, request, database, principal, status: .preconditionFailed)
        case .failure(let error): refuse(RESTRefusal(error))
        }
    }

    // MARK: Streams

    private func listen(
        _ path: RealtimePath, _ request: RESTRequest, _ database: any RealtimeDatabase,
        _ bearer: RealtimeCredentials.Bearer
    ) {
        let stream = ValueStream(path, form: request.form, until: bearer, connection)
        self.stream = stream
        let listen = RealtimeListen(path, query: request.query, form: request.form, requiresIndex: true)
        stream.begin(listen, database, bearer.principal)
    }

    private func watch(
        _ request: RESTRequest, _ database: any RealtimeDatabase, _ bearer: RealtimeCredentials.Bearer
    ) throws(RESTRefusal) {
        guard request.isStream else {
            throw RESTRefusal(400, "The profile is a stream: send Accept: text/event-stream.")
        }
        let stream = ProfileStream(database.profile, until: bearer, connection)
        self.stream = stream
        guard stream.begin() else {
            throw RESTRefusal(503, "At most \(DatabaseProfile.maxWatchers) clients watch a database at once.")
        }
    }

    // MARK: Databases

    private func listDatabases() throws(RESTRefusal) {
        let names: [String]
        do throws(RealtimeServiceError) { names = try parts.service.databaseNames() } catch { throw RESTRefusal(error) }
        var writer = JSONWriter()
        writer.array(names) { writer, name in
            writer.raw("{\"name\":")
            writer.string(name)
            writer.raw("}")
        }
        connection.send(
            .ok, ["Content-Type": RESTBody.contentType, "Cache-Control": "no-cache"], ByteBuffer(bytes: writer.bytes))
    }
}
