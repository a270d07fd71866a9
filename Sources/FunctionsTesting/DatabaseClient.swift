import DocumentModel
import FunctionStores
import RealtimeAPI
import RealtimeModel
import SecurityRules
import Synchronization
import WorkerProtocol

/// The operations of a Realtime Database's client, under the rules.
final class DatabaseClient: DatabaseBackend {
    private let service: StoreRealtimeService
    private let name: String
    private let principal: RealtimePrincipal
    private let client = RealtimeClient(address: 0)
    private let session: String

    private struct Observations {
        var all: [UInt64: ClientObservation] = [:]
        var last: UInt64 = 0
    }

    private let observations = Mutex(Observations())

    /// - Parameters:
    ///   - name: the database's.
    ///   - session: unlike that of other clients.
    init(_ service: StoreRealtimeService, _ name: String, as principal: RealtimePrincipal, session: String) {
        self.service = service
        self.name = name
        self.principal = principal
        self.session = session
    }

    private func database() throws(DocumentError) -> any RealtimeDatabase {
        do { return try service.database(name) } catch { throw DocumentError(error) }
    }

    func perform(
        _ request: DatabaseRequest, in context: OperationContext,
        completion: @escaping @Sendable (Result<DatabaseAnswer, DocumentError>) -> Void
    ) {
        Task {
            do throws(DocumentError) {
                completion(.success(try await perform(request)))
            } catch {
                completion(.failure(error))
            }
        }
    }

    func release(owner: UInt64) {}

    private func perform(_ request: DatabaseRequest) async throws(DocumentError) -> DatabaseAnswer {
        guard request.instance.isEmpty || request.instance == name else {
            throw .invalidArgument("a tester has clients of the project's own database only")
        }
        switch request.operation {
        case .get: return try await get(request)
        case .set, .update:
            try await write(try request.write())
            return .written
        case .observe: return .observing(try observe(request))
        case .next:
            guard let observation = observations.withLock({ $0.all[request.observation] }) else { throw Self.hasEnded }
            return .changes(try await observation.next())
        case .end:
            observations.withLock { $0.all.removeValue(forKey: request.observation) }?.end()
            return .written
        }
    }

    private static let hasEnded = DocumentError(.failedPrecondition, "the observation has ended")

    private func get(_ request: DatabaseRequest) async throws(DocumentError) -> DatabaseAnswer {
        let (path, query) = try request.place()
        let read = RealtimeRead(
            path, query: query, form: .value(.export), wantsHash: request.wantsHash, requiresIndex: false)
        let database = try database()
        let result = await withCheckedContinuation { continuation in
            database.read(read, as: principal, for: client) { continuation.resume(returning: $0) }
        }
        let reading = try await allowed(result, .read(path, query))
        return .value(try await reading.content.bytes(), hash: reading.hash ?? "")
    }

    private func write(_ write: RealtimeWrite) async throws(DocumentError) {
        let database = try database()
        let result = await withCheckedContinuation { continuation in
            database.write(write, RealtimeWriteOptions(), as: principal, for: client) {
                continuation.resume(returning: $0)
            }
        }
        _ = try await allowed(result, .write(write))
    }

    private func observe(_ request: DatabaseRequest) throws(DocumentError) -> UInt64 {
        let (path, query) = try request.place()
        let observation = ClientObservation(of: path) { [self] error in await refusal(error, .read(path, query)) }
        observation.begin(
            try database().listen(
                RealtimeListen(path, query: query, form: .export), as: principal, for: client, to: observation))
        return observations.withLock { observations in
            observations.last += 1
            observations.all[observations.last] = observation
            return observations.last
        }
    }

    func onDisconnect(_ request: RealtimeDisconnectRequest) async throws(DocumentError) {
        let database = try database()
        let result = await withCheckedContinuation { continuation in
            database.onDisconnect(request, session: session, as: principal, for: client) {
                continuation.resume(returning: $0)
            }
        }
        if case .write(let write) = request {
            try await allowed(result, .write(write))
        } else {
            do { try result.get() } catch { throw DocumentError(error) }
        }
    }

    func disconnect() async {
        let ended = observations.withLock { observations in
            defer { observations.all = [:] }
            return observations.all.values
        }
        for observation in ended { observation.end() }
        guard let database = try? database() else { return }
        await withCheckedContinuation { continuation in
            database.endSession(session, of: client) { _ in continuation.resume() }
        }
    }

    // MARK: Refusals

    @discardableResult
    private func allowed<Success: Sendable>(
        _ result: Result<Success, RealtimeServiceError>, _ operation: RealtimeOperation
    ) async throws(DocumentError) -> Success {
        switch result {
        case .success(let success): return success
        case .failure(let error): throw await refusal(error, operation)
        }
    }

    /// The error with what the rules have decided, as they would now.
    private func refusal(_ error: RealtimeServiceError, _ operation: RealtimeOperation) async -> DocumentError {
        guard error == .permissionDenied, let rules = service.rules(of: name),
            let decision = try? await service.explain(operation, in: name, by: rules, as: principal),
            !decision.isAllowed
        else { return DocumentError(error) }
        return DocumentError(.permissionDenied, "\(error.message). \(decision.explanation)")
    }
}

extension RealtimeContent {
    fileprivate func bytes() async throws(DocumentError) -> [UInt8] {
        guard case .stream(let stream, _) = self else {
            if case .bytes(let bytes) = self { return bytes }
            return []
        }
        var bytes: [UInt8] = []
        while true {
            let result = await withCheckedContinuation { continuation in
                stream.next { continuation.resume(returning: $0) }
            }
            do throws(RealtimeServiceError) {
                guard let piece = try result.get() else { return bytes }
                bytes += piece
            } catch {
                throw DocumentError(error)
            }
        }
    }
}

/// What a client observes.
final class ClientObservation: RealtimeListener {
    private let path: RealtimePath
    private let events: AsyncStream<RealtimeListenEvent>
    private let event: AsyncStream<RealtimeListenEvent>.Continuation
    private let listening = Mutex<(any RealtimeListening)?>(nil)
    private let failure: @Sendable (RealtimeServiceError) async -> DocumentError

    /// - Parameter failure: makes the error for why it ends.
    init(of path: RealtimePath, failure: @escaping @Sendable (RealtimeServiceError) async -> DocumentError) {
        self.path = path
        self.failure = failure
        (events, event) = AsyncStream.makeStream()
    }

    func begin(_ listening: any RealtimeListening) { self.listening.withLock { $0 = listening } }

    func receive(_ event: RealtimeListenEvent) { self.event.yield(event) }

    func end() {
        listening.withLock { $0 }?.cancel()
        event.finish()
    }

    /// Waits for the next event. One task at a time does.
    func next() async throws(DocumentError) -> [ReferenceChange.Setting] {
        for await event in events {
            switch event {
            case .began(let start):
                guard case .value(let content) = start.data else { continue }
                return [ReferenceChange.Setting("", try await content.bytes())]
            case .push(let push): return settings(of: push)
            case .ended(let error): throw await failure(error)
            }
        }
        throw DocumentError(.cancelled, "the observation has ended")
    }

    private func settings(of push: RealtimePush) -> [ReferenceChange.Setting] {
        guard let base = push.target.relative(to: path) else { return [] }
        switch push.change {
        case .put(let node): return [ReferenceChange.Setting(base.string, node?.json(as: .export))]
        case .merge(let changes):
            return changes.map {
                ReferenceChange.Setting(base.appending($0.target).string, $0.node?.json(as: .export))
            }
        }
    }
}

extension DocumentError {
    init(_ error: RealtimeServiceError) {
        let code: StatusCode =
            switch error {
            case .permissionDenied, .unverifiedApp: .permissionDenied
            case .stale: .aborted
            case .invalidToken, .expiredToken: .unauthenticated
            case .invalid, .query, .invalidSetting, .rules, .unknownRequest: .invalidArgument
            case .tooMuchToRead, .tooMuchToWrite, .tooManyNodes, .writeTooSlow, .updateTooLarge, .triggerLimit,
                .tooManyListens:
                .resourceExhausted
            case .unknownDatabase: .notFound
            case .unavailable: .unavailable
            case .failed: .internal
            }
        self.init(code, error.message)
    }
}
