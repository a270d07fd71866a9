import CommitPipeline
import DatabaseObservations
package import DocumentModel
package import RealtimeModel
package import RealtimeStore
import Sharing
import StrictJSON
package import WorkerProtocol

/// The host's Realtime Databases as functions reach them, as admins.
///
/// What a function changes carries its event chain and its delivery's lease, like its documents.
package final class FunctionDatabases: DatabaseBackend {
    /// What the host knows of its databases beside what they store.
    package struct Names: Sendable {
        /// The project's own.
        package var own: String
        package var triggerLimits: @Sendable (_ name: String) -> TriggerLimits
        /// Called with a query that no index answers.
        package var onMissingIndex: @Sendable (_ name: String, RealtimeQuery, RealtimePath) -> Void

        package init(
            own: String, triggerLimits: @escaping @Sendable (_ name: String) -> TriggerLimits = { _ in .strict },
            onMissingIndex: @escaping @Sendable (_ name: String, RealtimeQuery, RealtimePath) -> Void = { _, _, _ in }
        ) {
            self.own = own
            self.triggerLimits = triggerLimits
            self.onMissingIndex = onMissingIndex
        }
    }

    let store: RealtimeStore
    private let names: Names
    private let observations = Observations()
    /// What waits for all functions that observe, shared fairly among their invocations.
    private let waiting = MemoryBudget(total: 128 * 1024 * 1024)

    /// Paths, queries and values up to this are parsed on the caller's thread, which may be an event loop.
    static let smallBytes = 16_384
    /// What a short read may return.
    private static let maxShortBytes = 65_536

    private struct TooLong: Error {}

    package init(_ store: RealtimeStore, names: Names) {
        self.store = store
        self.names = names
    }

    package func perform(
        _ request: DatabaseRequest, in context: OperationContext, completion: @escaping Completion<DatabaseAnswer>
    ) {
        // A client under access rules, such as a test's, isn't an admin.
        guard context.policy == nil else {
            return completion(
                .failure(DocumentError(.permissionDenied, "only functions and other admins have this access")))
        }
        guard request.size > Self.smallBytes else { return start(request, context, completion) }
        Task { start(request, context, completion) }
    }

    private func start(
        _ request: DatabaseRequest, _ context: OperationContext, _ completion: @escaping Completion<DatabaseAnswer>
    ) {
        do throws(DocumentError) {
            switch request.operation {
            case .get: get(try read(of: request), context, completion)
            case .set, .update: commit(try commit([request]), context, completion)
            case .observe: observe(try read(of: request), context, completion)
            case .next: observations.next(request.observation, of: context.owner, completion)
            case .end:
                observations.end(request.observation, of: context.owner)
                completion(.success(.written))
            }
        } catch {
            completion(.failure(error))
        }
    }

    /// The database that a request names, in lowercase letters: so the port reads the names in clients' requests, which
    /// would never reach one of another name.
    ///
    /// - Throws: `invalidArgument` for what can't be a name.
    func name(of request: DatabaseRequest) throws(DocumentError) -> String {
        guard !request.instance.isEmpty else { return names.own }
        guard RealtimeLimits.isDatabaseName(request.instance) else {
            throw .invalidArgument("\"\(request.instance.excerpt)\" isn't the name of a Realtime Database")
        }
        return request.instance.lowercased()
    }

    // MARK: Reads

    struct Read: Sendable {
        var name: String
        var path: RealtimePath
        var query: RealtimeQuery?
        var wantsHash: Bool
    }

    func read(of request: DatabaseRequest) throws(DocumentError) -> Read {
        let (path, query) = try request.place()
        return Read(name: try name(of: request), path: path, query: query, wantsHash: request.wantsHash)
    }

    private func get(
        _ read: Read, _ context: OperationContext, _ completion: @escaping Completion<DatabaseAnswer>
    ) {
        guard read.query == nil else {
            return get(read, context, isShort: false) { completion($0 ?? .failure(.unanswered)) }
        }
        let (known, place) = store.nodes.find(read.path, in: read.name)
        if let known, !observes(context.owner) { return completion(answer(known, read, context)) }
        get(read, context, isShort: true, adding: place) { [self] answer in
            if let answer { return completion(answer) }
            get(read, context, isShort: false) { completion($0 ?? .failure(.unanswered)) }
        }
    }

    private func answer(
        _ known: NodeCache.Known, _ read: Read, _ context: OperationContext
    ) -> Result<DatabaseAnswer, DocumentError> {
        Result { () throws(DocumentError) in
            let json = known.json(as: .export)
            try context.answer?.take(json.count)
            return .value(json, hash: read.wantsHash ? known.exactHash : "", version: known.version)
        }
    }

    /// - Parameters:
    ///   - place: where to add what is found.
    ///   - completion: receives nil if that is too long for a short read.
    private func get(
        _ read: Read, _ context: OperationContext, isShort: Bool, adding place: NodeCache.Place? = nil,
        _ completion: @escaping @Sendable (Result<DatabaseAnswer, DocumentError>?) -> Void
    ) {
        store.read(
            in: read.name, of: isShort ? nil : .client(Self.functions), cancellation: context.cancellation,
            isAnsweredAtOnce: { [self] in !observes(context.owner) }
        ) { [self] state -> DatabaseAnswer? in
            do {
                var total = 0
                let (json, rows) = try json(of: read, in: state) { bytes in
                    total += bytes
                    if isShort, total > Self.maxShortBytes { throw TooLong() }
                    do throws(DocumentError) { try context.answer?.take(bytes) } catch {
                        throw RealtimeFailure(.tooLarge, error.message)
                    }
                }
                try place.map { try store.nodes.add(from: state, rows: rows, bytes: total, at: $0) }
                let hash = read.wantsHash ? try state.hash(at: read.path, matching: read.query, isExact: true) : ""
                return .value(json, hash: hash, version: state.version)
            } catch is TooLong {
                return nil
            }
        } completion: { result in
            switch result {
            case .success(let answer): completion(answer.map { .success($0) })
            case .failure(let failure): completion(.failure(failure.documentError))
            }
        }
    }

    /// - Parameter take: called with the bytes of each piece before it is kept.
    /// - Returns: the JSON, and how many nodes with a row there were.
    private func json(
        of read: Read, in state: RealtimeSnapshot, _ take: (Int) throws -> Void
    ) throws -> (json: [UInt8], rows: Int) {
        if let query = read.query, !state.isIndexed(query, at: read.path) {
            names.onMissingIndex(read.name, query, read.path)
        }
        var json: [UInt8] = []
        let rows = try state.writeJSON(at: read.path, matching: read.query, as: .export) { piece in
            try take(piece.count)
            json += piece
        }
        return (json, rows)
    }

    /// All functions together, in long reads.
    private static let functions = UInt64.max - 1

    // MARK: Writes

    private func commit(
        _ request: RealtimeCommit, _ context: OperationContext, _ completion: @escaping Completion<DatabaseAnswer>
    ) {
        var request = request
        request.client = context.owner.map { retrying($0, context) }
        request.isAnsweredAtOnce = { [self] in !observes(context.owner) }
        store.commit(
            request,
            in: OperationContext(
                auth: context.auth, chain: context.chain, delivery: context.delivery,
                firesEvents: context.firesEvents),
            // What it hashes may be large.
            of: request.writes.contains(where: \.isConditional) ? .clientCommit(Self.functions) : nil
        ) { result in
            completion(result.map { _ in .written }.mapError { $0.documentError })
        }
    }

    /// The commit of writes of one database.
    func commit(_ requests: [DatabaseRequest]) throws(DocumentError) -> RealtimeCommit {
        guard let first = requests.first else { throw .invalidArgument("a commit has no writes") }
        let name = try name(of: first)
        var writes: [RealtimeWrite] = []
        for request in requests { writes.append(try request.write()) }
        var commit = RealtimeCommit(writes, in: name)
        commit.triggerLimits = names.triggerLimits(name)
        return commit
    }

    // MARK: Observations

    private func observe(
        _ read: Read, _ context: OperationContext, _ completion: @escaping Completion<DatabaseAnswer>
    ) {
        let observation = Observation(waiting, of: context.owner ?? 0)
        let id: UInt64
        do throws(DocumentError) { id = try observations.add(observation, of: context.owner) } catch {
            return completion(.failure(error))
        }
        let listener = store.listen(
            to: read.path, matching: read.query, in: read.name, of: .client(Self.functions),
            read: { [self] state in
                try json(of: read, in: state) { bytes in
                    do throws(DocumentError) { try observation.hold(bytes) } catch {
                        throw RealtimeFailure(.tooLarge, error.message)
                    }
                }.json
            },
            started: { result in
                switch result {
                case .success(let json): observation.receive([ReferenceChange.Setting("", json)], holding: json.count)
                case .failure(let failure): observation.fail(failure.documentError)
                }
            },
            receive: { push in
                observation.receive(
                    push.changes.map { ReferenceChange.Setting($0.target.string, $0.node?.json(as: .export)) })
            },
            failed: { observation.fail($0.documentError) })
        observation.begin { listener.cancel() }
        completion(.success(.observing(id)))
    }

    func retrying(_ owner: UInt64, _ context: OperationContext) -> RetryingClient {
        RetryingClient(.invocation(owner)) { [cancellation = context.cancellation] in
            cancellation?.isCancelled == true
        }
    }

    /// Whether answers to an owner wait for what it observes.
    func observes(_ owner: UInt64?) -> Bool { observations.has(of: owner) }

    package func release(owner: UInt64) { observations.endAll(of: owner) }
}

extension DocumentError {
    fileprivate static let unanswered = DocumentError(.internal, "a read had no answer")
}
