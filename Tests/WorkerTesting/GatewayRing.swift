import DocumentModel
package import FunctionManifest
package import Gateway
package import NIOCore
package import NIOEmbedded
import Logging
import TokenVerification
import WorkerProtocol
package import Workers

/// A gateway in process: embedded connections in front of it, scripted workers behind it, and time that a test moves.
///
/// It does nothing by itself and nothing beside the test: what a test causes has happened when the call returns. Use one
/// from a test function that isn't `async`, since an embedded loop belongs to one thread.
package final class GatewayRing {
    package static let project = "demo-shop"
    package static let region = "us-central1"

    package let loop = EmbeddedEventLoop()
    package let processes: ScriptedProcesses
    package let documents = ScriptedDocuments()
    package let services: InvocationServices
    package let gateway: GatewayLoop
    package let log: CapturedLog
    private var functions: [String: ServedFunction] = [:]
    private var clients: [RingClient] = []

    /// Runs a test with a ring of its own.
    ///
    /// - Parameters:
    ///   - budgets: by function.
    ///   - secrets: of each function.
    ///   - environment: of each worker.
    ///   - hosts: those that requests may be for; nil for any, as in production.
    ///   - verifiers: nil for those of development without keys.
    ///   - memory: what bodies and answers may use.
    ///   - gatewayLimits: the bounds of the gateway; nil for those that follow from `limits`.
    ///   - longWork: does what takes long with a large body.
    package static func with(
        _ functions: [FunctionManifest], budgets: [String: FunctionBudget] = [:], secrets: [String: String] = [:],
        environment: [String: String] = [:], limits: HostLimits = HostLimits(), gatewayLimits: GatewayLimits? = nil,
        memory: PortMemory = PortMemory(),
        hosts: LocalHosts? = nil, verifiers: TokenVerifiers? = nil,
        longWork: @escaping @Sendable (UInt64, @escaping @Sendable () -> Void) -> Void = { $1() },
        _ body: (GatewayRing) throws -> Void
    ) throws {
        _ = CapturedLog.isInstalled
        let log = CapturedLog()
        try CapturedLog.$current.withValue(log) {
            let ring = GatewayRing(
                functions, budgets, secrets, environment, limits,
                gatewayLimits ?? GatewayLimits(requestBody: limits.requestBody),
                memory, hosts, verifiers ?? developmentVerifiers, longWork, log: log)
            defer { ring.close() }
            try body(ring)
        }
    }

    private init(
        _ functions: [FunctionManifest], _ budgets: [String: FunctionBudget], _ secrets: [String: String],
        _ environment: [String: String], _ limits: HostLimits, _ gatewayLimits: GatewayLimits, _ memory: PortMemory,
        _ hosts: LocalHosts?,
        _ verifiers: TokenVerifiers,
        _ longWork: @escaping @Sendable (UInt64, @escaping @Sendable () -> Void) -> Void, log: CapturedLog
    ) {
        self.log = log
        processes = ScriptedProcesses(loop: loop)
        services = InvocationServices(FunctionBackends(documents: documents), limits: limits, decodeLarge: { $0() })
        let invocations = InvocationLoop(index: 0, eventLoop: loop, idSource: InvocationIDSource())
        let logger = Logger(label: "gateway")
        for manifest in functions {
            let pool = WorkerPool(
                name: manifest.name,
                limits: .init(
                    concurrency: manifest.concurrency, minInstances: manifest.minInstances,
                    maxInstances: manifest.maxInstances, queue: limits.queue, maxStarting: 4,
                    runsDeliveries: manifest.trigger.isForEvents),
                launch: WorkerLaunch(
                    executable: "/nowhere", environment: environment,
                    params: ParamValues(function: manifest.name, secrets: secrets),
                    limits: WorkerLimits(manifest, limits)),
                services: services, processes: processes, loops: [invocations])
            self.functions[manifest.name] = ServedFunction(
                manifest: manifest, pool: pool,
                gate: FunctionGate(
                    manifest.name, budget: budgets[manifest.name], record: nil,
                    now: { Timestamp(seconds: 1_800_000_000, nanoseconds: 0) }, logger: logger),
                limiter: RateLimiter(manifest.rateLimits, now: loop.now))
        }
        gateway = GatewayLoop(
            invocations: invocations, verifiers: verifiers, consumedTokens: ConsumedTokens(), limits: gatewayLimits,
            memory: memory, hosts: hosts, longWork: longWork, logger: logger,
            routes: RouteTable(project: Self.project, functions: Array(self.functions.values)))
    }

    /// They accept unsigned tokens, and no signed ones.
    package static var developmentVerifiers: TokenVerifiers {
        func verifier(_ kind: TokenKind) -> TokenVerifier {
            TokenVerifier(kind: kind, policy: .development, remoteKeys: nil)
        }
        return TokenVerifiers(
            idToken: verifier(.idToken(project: project)), sessionCookie: verifier(.sessionCookie(project: project)),
            appCheck: verifier(.appCheck(project: project)))
    }

    /// Ends what is left.
    private func close() {
        for client in clients { client.hangUp() }
        for worker in processes.workers { worker.crash() }
        run()
        try? loop.syncShutdownGracefully()
    }

    // MARK: Time

    /// Does what can be done without time passing.
    package func run() {
        repeat { loop.run() } while processes.receive()
    }

    package func advance(_ time: TimeAmount) {
        run()
        let end = loop.now + time
        // In steps, so that what happens at a time is answered at that time.
        while loop.now < end {
            loop.advanceTime(by: min(.milliseconds(10), end - loop.now))
            run()
        }
    }

    // MARK: What there is

    package func function(_ name: String) -> ServedFunction? { functions[name] }

    /// The worker that was started last.
    package var worker: ScriptedWorker? { processes.workers.last }

    /// The invocation that came first of those that the test hasn't taken.
    package func next() -> ScriptedInvocation? {
        for worker in processes.workers { if let next = worker.next() { return next } }
        return nil
    }

    // MARK: Clients

    package func connect() throws -> RingClient {
        let client = try RingClient(self)
        clients.append(client)
        return client
    }

    /// Sends a request over a connection of its own.
    package func send(
        _ method: String, _ path: String, _ headers: [String: String] = [:], _ body: String = ""
    ) throws -> RingClient {
        let client = try connect()
        client.send(method, path, headers, body: ByteBuffer(string: body))
        return client
    }

    package static func path(_ function: String) -> String { "/\(project)/\(region)/\(function)" }

    /// Calls a callable.
    package func call(
        _ name: String, _ data: String = "null", _ headers: [String: String] = [:]
    ) throws -> RingClient {
        try send(
            "POST", Self.path(name), ["Content-Type": "application/json"].merging(headers) { $1 },
            #"{"data":\#(data)}"#)
    }
}
