import DocumentModel
import DocumentStore
import EventDelivery
public import FunctionsRuntime
import Logging
import NIOCore
import WorkerProtocol

/// Runs a bundle's functions in the test's own process, over a document store in memory.
///
///     let shop = try FunctionsTester(ShopFunctions())
///     try await shop.firestore.collection("users").document("ada").setData(["name": "Ada"])
///     let answer: Purchase.Answer = try await shop.call("purchase", as: .user("ada"))
///
/// Data and answers pass through JSON as a client's would, and the store is as strict as the embedded one: the same
/// code on another engine. What functions cause waits in its outbox until ``deliverAll(toleratingFailures:)`` or
/// ``advance(by:toleratingFailures:)`` tells the functions that are to be told. What only a process can have is not here:
/// time and memory limits, and crashes of its own.
public final class FunctionsTester: Sendable {
    /// The documents, as admin.
    public let firestore: Firestore
    let functions: [String: Function]
    let store: DocumentStore
    let routes: EventRoutes
    let clock: TesterClock
    private let database: DatabaseID
    private let params: TestParams

    /// - Parameters:
    ///   - project: the project that references are in.
    ///   - start: the time at which the store's clock starts; the machine's by default. It stands still, but for
    ///     ``advance(by:toleratingFailures:)``.
    ///   - params: the values of the bundle's params; others have their defaults.
    ///   - secrets: the values of its secrets. A function gets those that it declares.
    /// - Throws: ``TestError`` where the bundle is impossible, or lacks a value.
    public init(
        _ bundle: some FunctionBundle, project: String = "demo-test", startingAt start: Timestamp? = nil,
        params: [String: TestParam] = [:], secrets: [String: String] = [:]
    ) throws {
        let manifest = Manifest(bundle)
        // A host looks zones up too, where the bundle can't.
        let problems =
            manifest.problems
            + manifest.functions.compactMap { function in
                function.zoneProblem.map { ManifestProblem(function: function.name, reason: $0) }
            }
        guard problems.isEmpty else {
            throw TestError(problems.map(\.description).joined(separator: "; "))
        }
        self.params = try TestParams(manifest.params, values: params, secrets: secrets)
        functions = Dictionary(bundle.functions.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        database = DatabaseID(project: project)
        let clock = TesterClock(startingAt: start)
        self.clock = clock
        store = try DocumentStore(engine: MemoryEngine(), now: clock.now)
        routes = try EventRoutes(manifest.functions)
        store.routeEvents(by: routes)
        try store.start()
        firestore = Firestore(
            transport: StoreTransport(store: store, database: database, clock: clock, context: OperationContext()))
    }

    /// The time as the store has it.
    public var now: Timestamp { clock.now() }

    /// The documents as triggers see a user's changes: their events tell of that user. No rules apply.
    public func firestore(as caller: TestCaller) -> Firestore {
        Firestore(transport: transport(OperationContext(auth: EventAuth(.appUser, id: caller.uid))))
    }

    /// A queue, to enqueue tasks as functions do.
    public func taskQueue(_ name: String) -> TaskQueue { TaskQueue(name: name, firestore: firestore) }

    private func transport(_ context: OperationContext) -> StoreTransport {
        StoreTransport(store: store, database: database, clock: clock, context: context)
    }

    /// Calls a callable function.
    ///
    /// - Parameters:
    ///   - caller: who calls; nobody by default.
    ///   - idempotencyKey: as the header of this name.
    /// - Throws: ``HttpsError`` as a client would see it: what isn't the author's own is `internal`.
    public func call<Output: Decodable>(
        _ name: String, _ data: some Encodable = NoData(), as caller: TestCaller? = nil,
        idempotencyKey: String? = nil, returning: Output.Type = Output.self
    ) async throws -> Output {
        try await stream(name, data, as: caller, idempotencyKey: idempotencyKey, onChunk: { (_: JSONValue) in })
    }

    /// Calls a callable function as a client that reads its chunks.
    ///
    /// - Parameter onChunk: called with each chunk, in order.
    /// - Throws: as ``call(_:_:as:idempotencyKey:returning:)``.
    public func stream<Chunk: Decodable & SendableMetatype, Output: Decodable>(
        _ name: String, _ data: some Encodable = NoData(), as caller: TestCaller? = nil,
        idempotencyKey: String? = nil, onChunk: @escaping @Sendable (Chunk) -> Void
    ) async throws -> Output {
        guard case .callable(let handler)? = functions[name]?.handler else {
            throw TestError("there is no callable function \"\(name)\"")
        }
        let body = try CallableEncoder(root: "data").encode(data)
        let completion =
            handler.isTransactional
            ? idempotencyKey.map { CompletionKey(scope: "\(name)/\(caller?.uid ?? "")", key: $0, fingerprint: body) }
            : nil
        var head = InvocationHead(executionID: "test", timeLeft: 60_000, streams: true)
        head.auth = caller.map { .init(id: $0.uid, claims: ByteBuffer(bytes: $0.claimsJSON)) }
        let context = self.context(name, head, body: body, OperationContext(completion: completion)) { chunk in
            onChunk(try CallableDecoder(root: "chunk").decode(Chunk.self, from: Array(chunk.readableBytesView)))
        }
        do {
            let answer = try await InvocationContext.$current.withValue(context) { try await handler.run(context) }
            return try CallableDecoder(root: "result").decode(Output.self, from: answer)
        } catch {
            throw HttpsError(seenByClient: error)
        }
    }

    /// Sends a request to an HTTP function.
    ///
    /// - Parameter target: what follows the function's name: `/rest?query`.
    /// - Throws: ``HttpsError`` where the handler throws; a client would see it as JSON.
    public func request(
        _ name: String, method: String = "GET", target: String = "/", headers: Headers = [:], body: [UInt8] = []
    ) async throws -> TestResponse {
        guard case .http(let handler)? = functions[name]?.handler else {
            throw TestError("there is no HTTP function \"\(name)\"")
        }
        let head = InvocationHead(
            executionID: "test", timeLeft: 60_000, method: method, target: target, headers: headers.block)
        let streamed = StreamedBody()
        let context = self.context(name, head, body: body, OperationContext()) { streamed.append($0) }
        do {
            return try await InvocationContext.$current.withValue(context) {
                let response = try await handler(HTTPRequest(context: context))
                switch response.body {
                case .bytes(let bytes): return TestResponse(response, body: bytes)
                case .stream(let body):
                    try await body(HTTPBodyWriter(context: context))
                    return TestResponse(response, body: streamed.bytes)
                }
            }
        } catch {
            throw HttpsError(seenByClient: error)
        }
    }

    func context(
        _ name: String, _ head: InvocationHead, body: [UInt8], _ operations: OperationContext,
        sendChunk: @escaping @Sendable (ByteBuffer) async throws -> Void
    ) -> InvocationContext {
        var context = InvocationContext(
            head: head, body: ByteBuffer(bytes: body), deadline: .now + .milliseconds(Int64(head.timeLeft)),
            transport: transport(operations),
            logger: Logger(label: "test"), sendChunk: sendChunk)
        context.params = functions[name].map(params.values(for:))
        return context
    }
}

/// A signed-in user, as a test makes one up.
public struct TestCaller: Sendable {
    public var uid: String
    /// Further claims of the token.
    public var claims: [String: JSONValue]

    public static func user(_ uid: String, claims: [String: JSONValue] = [:]) -> TestCaller {
        TestCaller(uid: uid, claims: claims)
    }

    var claimsJSON: [UInt8] {
        var all = claims
        all["sub"] = .string(uid)
        all["user_id"] = .string(uid)
        return (try? CallableEncoder().encode(all)) ?? Array("{}".utf8)
    }
}

/// What an HTTP function answered.
public struct TestResponse: Sendable {
    public var status: Int
    public var headers: Headers
    public var body: [UInt8]

    init(_ response: HTTPResponse, body: [UInt8]) {
        status = response.status
        headers = response.headers
        self.body = body
    }

    public var text: String { String(decoding: body, as: UTF8.self) }

    /// The body read as JSON.
    public func json<Body: Decodable>(as type: Body.Type = Body.self) throws -> Body {
        try CallableDecoder(root: "body").decode(type, from: body)
    }
}

/// What is wrong with a test's use of the tester.
public struct TestError: Error, CustomStringConvertible {
    public var description: String
    init(_ description: String) { self.description = description }
}

extension HttpsError {
    /// Only the author's own errors reach a client.
    init(seenByClient error: any Error) {
        let failure = InvocationFailure(error)
        let details = failure.details.flatMap { try? JSONValue(parsing: Array($0.readableBytesView)) }
        self.init(failure.code, failure.message, details: details)
    }
}
