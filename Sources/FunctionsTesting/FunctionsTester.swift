import CommitPipeline
import StorageEngine
import DocumentModel
import DocumentStore
import EventDelivery
import FunctionStores
public import FunctionsRuntime
import IdentityProvider
import Logging
import RealtimeAPI
import RealtimeStore
import SecurityRules
import StrictJSON
import TokenVerification
import UserStore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import NIOCore
import FunctionManifest
import WorkerProtocol

/// Runs a bundle's functions in the test's process, over a document store in memory.
///
///     let shop = try FunctionsTester(ShopFunctions())
///     try await shop.firestore.collection("users").document("ada").setData(["name": "Ada"])
///     let answer: Purchase.Answer = try await shop.call("purchase", as: .user("ada"))
///
/// A call takes the same path as in a worker, after the same checks as in a host. Data and results pass through JSON,
/// and callers see errors as a client would. The store is as strict as the embedded one: the same code with another
/// engine, and so are the users of ``users``. Deliveries that functions cause stay in its outbox until ``deliverAll(toleratingFailures:)`` or
/// ``advance(by:toleratingFailures:)``.
///
/// The test controls time: an invocation that exceeds its function's timeout through
/// ``advance(by:toleratingFailures:)`` ends with DEADLINE_EXCEEDED. Features that need processes don't exist here:
/// memory limits, instances, rate limits, and crashes of a single function.
public final class FunctionsTester: Sendable {
    /// The documents, with admin access.
    public let firestore: Firestore
    /// The users, with admin access: for those that a test begins with, and to look at what functions have made of them.
    ///
    ///     try await shop.users.create(UserCreation(uid: "ada", email: "ada@example.com"))
    ///     let _: NoData = try await shop.call("makeStaff", "ada@example.com", as: .user("boss"))
    ///     #expect(try await shop.users.get("ada").customClaims == ["staff": true])
    ///
    /// Functions of `onUserCreated` and `onUserDeleted` are due then, as in the host: see
    /// ``deliverAll(toleratingFailures:)``. A call's user needn't be among them.
    public let users: Users
    /// The project's Realtime Database, with admin access.
    ///
    ///     try await chat.database.reference(withPath: "rooms/lobby/title").setValue("Lobby")
    ///
    /// Server values have the tester's time. Functions of `onValueWritten` and similar are due after a change: see
    /// ``deliverAll(toleratingFailures:)``.
    public let database: Database
    let functions: [String: Function]
    let store: DocumentStore
    let routes: FunctionRoutes
    let clock: TesterClock
    let schedules: TestSchedules
    let tokens = TestTokens()
    let invocations = TestInvocations()
    private let databaseID: DatabaseID
    private let backends: FunctionBackends
    private let params: TestParams
    /// What clients may do; nil for everything.
    private let rules: ClientRules?
    let trees: RealtimeStore
    private let realtime: StoreRealtimeService

    /// - Parameters:
    ///   - bundles: The bundle, or several that work together: one's functions handle what another's cause, as under one
    ///     host.
    ///   - project: The project of document references.
    ///   - start: The initial time of the store's clock; the current time by default. Only
    ///     ``advance(by:toleratingFailures:)`` moves the clock.
    ///   - values: The values of the bundles' params; other params have their defaults.
    ///   - secrets: The values of their secrets. A function can read the secrets that it declares.
    ///   - rules: The file of the security rules that clients are under, see ``firestore(as:)``. `swift test` runs in the
    ///     package's directory. Default: clients may do everything.
    ///   - databaseRules: The same for the Realtime Database, see ``database(as:)``.
    /// - Throws: ``TestError`` if a bundle is invalid, two bundles have a function of the same name, or a value is missing.
    public init(
        _ bundles: any FunctionBundle..., project: String = "demo-test", startingAt start: Timestamp? = nil,
        params values: [String: TestParam] = [:], secrets: [String: String] = [:], rules: String? = nil,
        databaseRules: String? = nil
    ) throws {
        let all = bundles.flatMap(\.configuredFunctions)
        // Bundles that share code declare the same params.
        let params = bundles.flatMap(\.params).reduce(into: [ParamDefinition]()) { all, param in
            if !all.contains(where: { $0.manifest == param.manifest }) { all.append(param) }
        }
        let manifest = Manifest(all, params: params)
        // A host also checks time zones, which a bundle can't.
        let problems =
            manifest.problems(of: all)
            + manifest.functions.compactMap { function in
                function.zoneProblem.map { ManifestProblem(function: function.name, reason: $0) }
            }
        guard problems.isEmpty else {
            throw TestError(problems.map(\.description).joined(separator: "; "))
        }
        self.rules = try rules.map { file in
            ClientRules(
                .rules(try Self.compiled(file) { text throws(InvalidRules) in try Ruleset(text) }), explains: true)
        }
        let databaseRules = try databaseRules.map { file in
            try Self.compiled(file) { text throws(InvalidRules) in try DatabaseRules(text) }
        }
        self.params = try TestParams(manifest.params, values: values, secrets: secrets)
        functions = Dictionary(all.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        databaseID = DatabaseID(project: project)
        let clock = TesterClock(startingAt: start)
        self.clock = clock
        store = try DocumentStore(engine: MemoryEngine(), now: clock.now, configuration: Self.unhurried)
        let functionUsers = FunctionUsers(
            IdentityToolkit(
                users: try UserStore(on: store.pipeline, project: project), policy: .development, keys: nil,
                passwords: Self.passwords, customTokens: .unverified, logger: Logger(label: "users"),
                now: { clock.now().seconds }),
            address: { "http://127.0.0.1:9099" })
        trees = try RealtimeStore(on: store.pipeline)
        realtime = StoreRealtimeService(
            trees, names: [Self.databaseName(of: project)], isDevelopment: true,
            spool: Spool(directory: FileManager.default.temporaryDirectory.path()),
            logger: Logger(label: "database", factory: { _ in SwiftLogNoOpLogHandler() }),
            now: { clock.now().microseconds / 1_000 })
        let functionDatabases = FunctionDatabases(
            trees, names: FunctionDatabases.Names(own: Self.databaseName(of: project)))
        backends = FunctionBackends(
            documents: store, users: functionUsers, databases: functionDatabases,
            transactions: FunctionTransactions(store, users: functionUsers, databases: functionDatabases))
        routes = try FunctionRoutes(manifest.functions)
        store.routeEvents(by: routes)
        schedules = try TestSchedules(manifest.functions, store: store)
        try store.start()
        if let databaseRules { realtime.serve(databaseRules) }
        let transport = StoreTransport(
            backends: backends, database: databaseID, clock: clock, context: OperationContext())
        firestore = Firestore(transport: transport)
        users = Users(transport: transport)
        database = Database(transport: transport)
    }

    /// For all testers of the process: its hashes are as cheap as can be, since they protect no user.
    private static let passwords = PasswordHasher(cost: 2)

    /// No limit in real time decides a test: a machine may be busy, an author may stop at a breakpoint.
    private static let unhurried: StoreConfiguration = {
        var configuration = StoreConfiguration()
        let day = Duration.seconds(86_400)
        configuration.transactionLifetime = day
        configuration.transactionIdle = day
        // A handler that writes past its transaction waits for itself until then.
        configuration.turnLimit = .seconds(20)
        configuration.ticketLifetime = day
        configuration.clientQueryLimits.time = day
        configuration.clientCommitLimits.time = day
        configuration.maxRefillTime = day
        configuration.maxDeliveryTime = day
        // A test may hold a transaction until another one has ended.
        configuration.hotTime = .zero
        return configuration
    }()

    /// The current time of the store's clock.
    public var now: Timestamp { clock.now() }

    /// The documents, as a client's: under the rules that the tester was given, and events have the user's `auth`.
    ///
    ///     let tester = try FunctionsTester(ShopFunctions(), rules: "firestore.rules")
    ///     try await tester.firestore(as: .user("ada")).document("users/ada").setData(["name": "Ada"])
    ///     await #expect(throws: DocumentError.self) {
    ///         try await tester.firestore(as: .nobody).document("users/ada").getDocument()
    ///     }
    ///
    /// The message of a refusal says which `allow` was tried and why it didn't hold, with its line and column.
    public func firestore(as caller: TestCaller) -> Firestore {
        let client: ClientIdentity?
        do {
            client = try caller.identity(project: project, at: now).map {
                ClientIdentity(uid: $0.id, claims: Array($0.claims.readableBytesView))
            }
        } catch {
            return Firestore(transport: transport(OperationContext(policy: ImpossibleCaller(reason: "\(error)"))))
        }
        let auth = client.map { EventAuth(.appUser, id: $0.uid) } ?? EventAuth(.unauthenticated)
        guard let rules else { return Firestore(transport: transport(OperationContext(auth: auth))) }
        let owner = UInt64(truncatingIfNeeded: caller.uid.hashValue) | 1 << 63
        return Firestore(
            transport: transport(
                OperationContext(owner: owner, policy: rules.policy(of: client, in: databaseID), auth: auth)))
    }

    private static func compiled<Rules>(
        _ file: String, _ compile: (String) throws(InvalidRules) -> Rules
    ) throws -> Rules {
        guard let data = FileManager.default.contents(atPath: file), let text = String(validating: data, as: UTF8.self)
        else {
            throw TestError(
                "the rules \(file) can't be read; \(FileManager.default.currentDirectoryPath) is the directory")
        }
        do { return try compile(text) } catch {
            throw TestError(error.diagnostics.map { "\(file):\($0)" }.joined(separator: "\n"))
        }
    }

    private static func databaseName(of project: String) -> String { project + "-default-rtdb" }

    func databaseClient(of caller: TestCaller) throws -> DatabaseClient {
        let auth = try caller.identity(project: project, at: now).map { identity in
            RealtimeAuth(uid: identity.id, claims: try JSONValue(parsing: Array(identity.claims.readableBytesView)))
        }
        return DatabaseClient(
            realtime, Self.databaseName(of: project), as: .client(auth), session: "test-\(invocations.next())")
    }

    func transport(of client: DatabaseClient) -> any DocumentTransport {
        StoreTransport(
            backends: FunctionBackends(documents: store, databases: client), database: databaseID, clock: clock,
            context: OperationContext())
    }

    /// A queue, for enqueuing tasks as functions do.
    public func taskQueue(_ name: String) -> TaskQueue { TaskQueue(name: name, firestore: firestore) }

    /// Waits until a handler of the function is running. The test can then advance the clock past its deadline, or
    /// cancel the calling task like a client that disconnects.
    ///
    ///     let call = Task { try await tester.call("slow", returning: String.self) }
    ///     try await tester.waitUntilRunning("slow")
    ///     try await tester.advance(by: .seconds(60))
    ///     await #expect(throws: HttpsError.self) { try await call.value }     // DEADLINE_EXCEEDED
    ///
    /// - Throws: ``TestError`` if there is no such function.
    public func waitUntilRunning(_ name: String) async throws {
        guard functions[name] != nil else { throw TestError("there is no function \"\(name)\"") }
        await invocations.wait(for: name)
    }

    var project: String { databaseID.project }

    private func transport(_ context: OperationContext, of run: TestRun? = nil) -> StoreTransport {
        StoreTransport(backends: backends, database: databaseID, clock: clock, context: context, run: run)
    }

    /// Runs a function as a worker does: in a separate task that is cancelled with the caller's, or at its deadline.
    /// Returns once the handler has returned.
    ///
    /// - Parameters:
    ///   - head: Without the invocation's id and time, which are set here.
    ///   - limit: A shorter timeout than the function's.
    ///   - sendChunk: Receives the chunks of the response.
    func perform(
        _ function: Function, _ head: InvocationHead, body: [UInt8], _ operations: OperationContext,
        timeout limit: Duration? = nil,
        sendChunk: @escaping @Sendable (ByteBuffer, RecordedResult) -> Void = { _, _ in }
    ) async -> RecordedResult.Content {
        let timeout = limit ?? function.options.effectiveTimeout(of: function.trigger)
        let run = TestRun(function, key: operations.completion, deadline: now.adding(timeout))
        let answer = RecordedResult()
        var head = head
        let number = invocations.next()
        head.executionID = "test-\(number)"
        var operations = operations
        operations.owner = UInt64(number)
        head.timeLeft = UInt32(clamping: Int64(timeout / .milliseconds(1)))
        let send: @Sendable (ByteBuffer) async throws -> Void = { chunk in
            guard chunk.readableBytes <= Frame.maxChunk else { throw OversizedChunk(bytes: chunk.readableBytes) }
            try Task.checkCancellation()
            guard run.isWanted else { throw CancellationError() }
            sendChunk(chunk, answer)
        }
        var context = InvocationContext(
            head: head, body: ByteBuffer(bytes: body), deadline: .now + timeout,
            transport: transport(operations, of: run), logger: Logger(label: function.name),
            sendChunk: send, writeBody: send)
        context.params = params.values(for: function)
        let task = Task { [context, invocations, backends] in
            invocations.begin(run)
            await InvocationContext.$current.withValue(context) { await HandlerRun.run(function, context, answer) }
            invocations.end(run)
            // Transactions left open by the handler must not delay others.
            backends.release(owner: UInt64(number))
        }
        run.began(task)
        await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            run.cancel()
        }
        var content = answer.content
        if let refusal = run.refusal {
            content.failure = InvocationFailure(code: refusal.code, message: refusal.message)
            content.error = refusal
            content.isGivenUp = refusal.code == .deadlineExceeded
        }
        return content
    }
}

/// A test used the tester incorrectly.
public struct TestError: Error, CustomStringConvertible {
    public var description: String
    init(_ description: String) { self.description = description }
}

extension Timestamp {
    func adding(_ duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds + Int64(duration / .microseconds(1)))
    }
}
