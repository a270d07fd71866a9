package import DocumentModel
import DatabaseObservations
import FirestoreClient
import OutboundHTTP
import RealtimeModel
import Sharing
import StrictJSON
package import WorkerProtocol

/// The Realtime Databases of functions that are served alone: Firebase's, an emulator's or those of another host, by REST.
///
/// The hash of a value is the service's ETag, which only the service understands. REST has no transactions over several
/// requests, so neither have the databases here.
package final class RemoteDatabases: DatabaseBackend {
    private let service: DatabaseService
    private let operations = RemoteOperations()
    /// Bytes of responses that may be held.
    private let memory: AsyncSemaphore
    /// Each has a connection of its own.
    private let observations = Observations(total: 150)
    /// What waits for all functions that observe.
    private let waiting = MemoryBudget(total: 64 * 1024 * 1024)

    private static let nullETag = "null_etag"

    /// - Parameter memory: how many bytes of responses may be held in memory at a time.
    init(_ service: DatabaseService, memory: Int = ResponseBudget.total) {
        self.service = service
        self.memory = AsyncSemaphore(memory)
    }

    package func perform(
        _ request: DatabaseRequest, in context: OperationContext, completion: @escaping Completion<DatabaseAnswer>
    ) {
        guard context.cancellation?.isCancelled != true else { return completion(.failure(.callerLeft)) }
        do throws(DocumentError) {
            switch request.operation {
            case .get:
                let read = try Read(request, at: service.location)
                run(in: context, completion) { () throws(DocumentError) in
                    let found = try await self.find(read)
                    try context.answer?.take(found.json.count)
                    return .value(found.json, hash: found.hash)
                }
            case .set, .update:
                run(in: context, completion) { () throws(DocumentError) in
                    try await self.write(request)
                    return .written
                }
            case .observe:
                completion(.success(.observing(try observe(try Read(request, at: service.location), context))))
            case .next: observations.next(request.observation, of: context.owner, completion)
            case .end:
                observations.end(request.observation, of: context.owner)
                completion(.success(.written))
            }
        } catch {
            completion(.failure(error))
        }
    }

    package func release(owner: UInt64) {
        operations.cancel(owner: owner)
        observations.endAll(of: owner)
    }

    /// Runs an operation within the bounds on memory and on its invocation's requests.
    private func run(
        in context: OperationContext, _ completion: @escaping Completion<DatabaseAnswer>,
        _ operation: @escaping @Sendable () async throws(DocumentError) -> DatabaseAnswer
    ) {
        operations.run(for: context.owner ?? 0) { [memory] slots in
            do throws(CancellationError) { try await slots.acquire() } catch {
                return completion(.failure(.invocationOver))
            }
            defer { slots.release() }
            let budget = ResponseBudget(of: memory)
            defer { budget.release() }
            completion(await Self.result(operation, within: budget))
        }
    }

    private static func result<Answer: Sendable>(
        _ operation: @escaping @Sendable () async throws(DocumentError) -> Answer, within budget: ResponseBudget
    ) async -> Result<Answer, DocumentError> {
        do throws(CancellationError) { try await budget.acquire(ResponseBudget.step) } catch {
            return .failure(.invocationOver)
        }
        return await ResponseBudget.$current.withValue(budget) {
            do throws(DocumentError) { return .success(try await operation()) } catch { return .failure(error) }
        }
    }

    // MARK: Reads

    /// What a request reads, once it is known to be valid.
    private struct Read: Sendable {
        let path: RealtimePath
        /// Nil for all that exists.
        let query: RESTQuery?
        let wantsHash: Bool
        private let instance: String

        init(_ request: DatabaseRequest, at location: DatabaseLocation) throws(DocumentError) {
            do {
                path = try RealtimePath(request.target)
                let query = try request.query.map { try RealtimeQuery(message: try JSONValue(parsing: $0)) }
                // An order alone is the reader's affair, and needs no index at the service.
                self.query = query.flatMap { $0.loadsAll ? nil : RESTQuery($0) }
            } catch {
                throw .invalidArgument("\(error)")
            }
            wantsHash = request.wantsHash
            instance = request.instance
            // Checks the name.
            _ = try location.address(of: "", in: instance, [])
        }

        func address(at location: DatabaseLocation, count: Int?) throws(DocumentError) -> String {
            try location.address(
                of: path.string, in: instance, [("format", "export")] + (query?.parameters(count: count) ?? []))
        }
    }

    /// Reads what exists. A query that the service can't answer exactly is asked with higher limits until it finds enough.
    private func find(_ read: Read) async throws(DocumentError) -> (json: [UInt8], hash: String) {
        var count = read.query?.firstCount
        while true {
            let answer = try await service.read(
                try read.address(at: service.location, count: count), wantsETag: read.wantsHash && read.query == nil)
            let node: RealtimeNode?
            do throws(RealtimeError) {
                node = try RealtimeWriteValue(parsing: answer.body, at: RealtimeTarget(read.path))
                    .resolved(now: 0, existing: nil)
            } catch {
                throw .unreadable("\(error)")
            }
            guard let query = read.query else { return (Self.json(node), Self.hash(answer)) }
            let found = node?.matching(query.query)
            let next = query.nextCount(
                after: count, received: node?.children.count ?? 0, matching: found?.children.count ?? 0)
            guard let next else { return (Self.json(found), "") }
            count = next
        }
    }

    private static func json(_ node: RealtimeNode?) -> [UInt8] { node?.json(as: .export) ?? Array("null".utf8) }

    private static func hash(_ answer: OutboundResponse) -> String {
        let etag = answer.header("ETag") ?? ""
        return etag == nullETag ? "" : etag
    }

    // MARK: Writes

    private func write(_ request: DatabaseRequest) async throws(DocumentError) {
        let target: RealtimeTarget
        var (method, value) = ("PUT", request.value)
        do throws(RealtimeError) {
            target = try RealtimeTarget(request.target)
            if request.operation == .update {
                _ = try RealtimeUpdate(parsing: request.value, at: target.path)
                method = "PATCH"
            } else {
                let isDeletion = try RealtimeWriteValue(parsing: request.value, at: target).isDeletion
                // Not a DELETE: only of a request with a body it is known whether it was sent.
                if isDeletion, !target.isPriority { value = Array("null".utf8) }
            }
        } catch {
            throw .invalidArgument("\(error)")
        }
        let etag = request.hash.map { $0.isEmpty ? Self.nullETag : $0 }
        let address = try service.location.address(
            of: target.string, in: request.instance, etag == nil ? [("print", "silent")] : [])
        try await service.write(method, address, value, ifMatch: etag)
    }

    // MARK: Observations

    private func observe(_ read: Read, _ context: OperationContext) throws(DocumentError) -> UInt64 {
        let observation = Observation(waiting, of: context.owner ?? 0)
        let isExact = read.query?.isExact ?? true
        // A stream can't be asked for more later: what it lacks would be missed.
        let address = try read.address(at: service.location, count: isExact ? read.query?.firstCount : nil)
        let id = try observations.add(observation, of: context.owner)
        let reread: @Sendable () async throws(DocumentError) -> [UInt8] = { [self] () throws(DocumentError) in
            try await self.reread(read)
        }
        let stream = ObservationStream(
            service: service, address: address,
            reader: DatabaseEventReader(path: read.path, query: read.query?.query), observation: observation,
            reread: isExact ? nil : reread)
        let task = Task { await stream.run() }
        observation.begin { task.cancel() }
        return id
    }

    private func reread(_ read: Read) async throws(DocumentError) -> [UInt8] {
        let budget = ResponseBudget(of: memory)
        defer { budget.release() }
        return try await Self.result({ () throws(DocumentError) in try await self.find(read).json }, within: budget)
            .get()
    }
}
