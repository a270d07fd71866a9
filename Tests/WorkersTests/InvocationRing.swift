import DocumentModel
import FunctionManifest
import WorkerProtocol
@testable import Workers
import NIOCore
import NIOEmbedded
import WorkerTesting

/// One function with workers that the test plays, on one embedded loop whose time the test moves.
final class InvocationRing {
    let eventLoop = EmbeddedEventLoop()
    let processes: ScriptedProcesses
    let documents = ScriptedDocuments()
    let services: InvocationServices
    let loop: InvocationLoop
    let function: ServedFunction

    init(
        budget: FunctionBudget? = nil, rateLimits: [RateLimitManifest] = [], timeoutSeconds: Int = 10,
        maxInstances: Int = 1, concurrency: Int = 1, queue: Int = 10, recordsAllCalls: Bool = true,
        trigger: TriggerManifest = .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: nil)),
        secrets: [String: String] = [:], responseBody: Int = Frame.maxAnswer,
        databases: any DatabaseBackend = UnavailableDatabases("there are none"), recordCalls: CallRecorder? = nil
    ) {
        processes = ScriptedProcesses(loop: eventLoop)
        services = InvocationServices(
            FunctionBackends(documents: documents, databases: databases), decodeLarge: { $0() },
            recordCalls: recordCalls, recordsAllCalls: recordsAllCalls)
        loop = InvocationLoop(index: 0, eventLoop: eventLoop, idSource: InvocationIDSource())
        let manifest = FunctionManifest(
            name: "f", regions: ["us-central1"], memoryMiB: 256, timeoutSeconds: timeoutSeconds, cpu: 1,
            concurrency: concurrency, minInstances: 0, maxInstances: maxInstances, labels: [:], secrets: [],
            ingress: "all", invoker: [], isTransactional: false,
            trigger: trigger)
        let time = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)
        var workerLimits = WorkerLimits(memory: 1 << 28)
        workerLimits.responseBody = responseBody
        let pool = WorkerPool(
            name: "f",
            limits: .init(
                concurrency: concurrency, minInstances: 0, maxInstances: maxInstances, queue: queue, maxStarting: 1),
            launch: WorkerLaunch(
                executable: "/nowhere", environment: [:], params: ParamValues(function: "f", secrets: secrets),
                limits: workerLimits),
            services: services, processes: processes, loops: [loop])
        function = ServedFunction(
            manifest: manifest, pool: pool,
            gate: FunctionGate(budget: budget.map { BudgetState($0, now: time) }, now: { time }),
            limiter: RateLimiter(rateLimits, now: eventLoop.now))
    }

    /// Lets everything happen that is due now.
    func run() {
        repeat { eventLoop.run() } while processes.receive()
    }

    func advance(_ time: TimeAmount) {
        let end = eventLoop.now + time
        while eventLoop.now < end {
            eventLoop.advanceTime(by: .milliseconds(10))
            run()
        }
    }

    /// Admits an invocation for a client of its own.
    func admit(
        head: InvocationHead = InvocationHead(), delivery: InvocationDelivery? = nil, key: CompletionKey? = nil
    ) throws(AdmissionRefusal) -> PlayedClient {
        let client = PlayedClient()
        client.invocation = try function.admit(for: client, on: loop) {
            InvocationRequest(
                head: head, body: .bytes(ByteBuffer(string: "null")), completionKey: key, delivery: delivery,
                onEnd: { [log = client.log] in log.add("ended " + PlayedClient.text($0)) })
        }
        run()
        return client
    }
}

final class PlayedClient: InvocationClient {
    /// Weak, as the invocation keeps its client until it is answered.
    weak var invocation: Invocation?
    /// What it received, and the end of the invocation.
    let log = Log()
    /// Called when it is answered.
    var onAnswer: () -> Void = {}

    final class Log {
        private(set) var entries: [String] = []
        func add(_ entry: String) { entries.append(entry) }
    }

    /// What it received, in order, and the end of the invocation.
    var heard: [String] { log.entries }

    func invocationStarted() { log.add("started") }
    func invocationSent(_ head: HTTPAnswerHead) { log.add("head") }
    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) { log.add("chunk") }
    func invocationAnswered(_ outcome: InvocationOutcome) {
        log.add("answered " + Self.text(outcome))
        onAnswer()
    }

    static func text(_ outcome: InvocationOutcome) -> String {
        switch outcome {
        case .result(let body): String(buffer: body)
        case .failure(let failure): failure.message
        case .notStarted(let failure): "notStarted \(failure.message)"
        case .lost(let end, let wasAlone): "lost \(end.kind) \(wasAlone)"
        }
    }
}

extension ScriptedWorker {
    /// The ids of the invocations that came and weren't taken, in order.
    func takeInvocations() -> [UInt64] {
        var ids: [UInt64] = []
        while let invocation = next() { ids.append(invocation.id) }
        return ids
    }

    func send(_ request: DocumentRequest, number: UInt32 = 1, _ invocation: UInt64) {
        send(.documentRequest, invocation) {
            $0.writeInteger(number)
            $0.writeBytes(request.encoded)
        }
    }
}

extension ScriptedDocuments {
    /// Answers the operation that came first.
    func answer(_ response: DocumentResponse) { next()?.answer(response) }
}
