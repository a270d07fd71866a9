import StorageEngine
import DocumentModel
import DocumentStore
import EventDelivery
public import FunctionsRuntime
import Logging
import NIOCore
import FunctionManifest
import WorkerProtocol

/// Runs a bundle's functions in the test's own process, over a document store in memory.
///
///     let shop = try FunctionsTester(ShopFunctions())
///     try await shop.firestore.collection("users").document("ada").setData(["name": "Ada"])
///     let answer: Purchase.Answer = try await shop.call("purchase", as: .user("ada"))
///
/// A call goes the way that it goes in a worker, with the checks that a host makes before: data and answers pass through
/// JSON, and callers see of errors what a client would. The store is as strict as the embedded one: the same code on
/// another engine. What functions cause waits in its outbox until ``deliverAll(toleratingFailures:)`` or
/// ``advance(by:toleratingFailures:)`` tells the functions that are to be told.
///
/// Time is the test's: what takes its function's whole timeout by ``advance(by:toleratingFailures:)`` is given up with
/// DEADLINE_EXCEEDED. What only a host with its processes can have is not here: memory limits, instances, rate limits, and
/// crashes of one function alone.
public final class FunctionsTester: Sendable {
    /// The documents, as admin.
    public let firestore: Firestore
    let functions: [String: Function]
    let store: DocumentStore
    let routes: EventRoutes
    let clock: TesterClock
    let schedules: TestSchedules
    let tokens = TestTokens()
    let invocations = TestInvocations()
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
        schedules = try TestSchedules(manifest.functions, store: store)
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

    /// Waits until a handler of the function runs, so that the test can move the clock on past its deadline, or cancel the
    /// task that calls it as a client that hangs up.
    ///
    ///     let call = Task { try await tester.call("slow", returning: String.self) }
    ///     try await tester.waitUntilRunning("slow")
    ///     try await tester.advance(by: .seconds(60))
    ///     await #expect(throws: HttpsError.self) { try await call.value }     // DEADLINE_EXCEEDED
    ///
    /// - Throws: ``TestError`` where there is no such function.
    public func waitUntilRunning(_ name: String) async throws {
        guard functions[name] != nil else { throw TestError("there is no function \"\(name)\"") }
        await invocations.wait(for: name)
    }

    var project: String { database.project }

    private func transport(_ context: OperationContext, of run: TestRun? = nil) -> StoreTransport {
        StoreTransport(store: store, database: database, clock: clock, context: context, run: run)
    }

    /// Runs a function as a worker does: in a task of its own that is cancelled with the caller's, or at its deadline.
    /// Returns once the handler has ended.
    ///
    /// - Parameters:
    ///   - head: without the invocation's id and time, which are set here.
    ///   - sendChunk: takes a part of the answer.
    func perform(
        _ function: Function, _ head: InvocationHead, body: [UInt8], _ operations: OperationContext,
        sendChunk: @escaping @Sendable (ByteBuffer, TestAnswer) -> Void = { _, _ in }
    ) async -> TestAnswer.Content {
        let timeout = function.options.timeout
        let run = TestRun(function.name, deadline: now.adding(timeout))
        let answer = TestAnswer()
        var head = head
        let number = invocations.next()
        head.executionID = "test-\(number)"
        var operations = operations
        operations.owner = UInt64(number)
        head.timeLeft = UInt32(clamping: Int64(timeout / .milliseconds(1)))
        var context = InvocationContext(
            head: head, body: ByteBuffer(bytes: body), deadline: .now + timeout,
            transport: transport(operations, of: run), logger: Logger(label: function.name),
            sendChunk: { chunk in
                try Task.checkCancellation()
                guard chunk.readableBytes <= Frame.maxChunk else { throw OversizedChunk(bytes: chunk.readableBytes) }
                sendChunk(chunk, answer)
            })
        context.params = params.values(for: function)
        let task = Task { [context, invocations, store] in
            invocations.begin(run)
            await InvocationContext.$current.withValue(context) { await HandlerRun.run(function, context, answer) }
            invocations.end(run)
            // What it has begun and not ended holds up nobody after it.
            store.release(owner: UInt64(number))
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

/// What is wrong with a test's use of the tester.
public struct TestError: Error, CustomStringConvertible {
    public var description: String
    init(_ description: String) { self.description = description }
}

extension Timestamp {
    func adding(_ duration: Duration) -> Timestamp {
        Timestamp(microseconds: microseconds + Int64(duration / .microseconds(1)))
    }
}
