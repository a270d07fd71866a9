import DocumentModel
import FunctionManifest
import Synchronization
import WorkerProtocol
@testable import Workers
import NIOCore
import NIOEmbedded

/// One function with workers that the test plays, on one embedded loop whose time the test moves.
final class InvocationRing {
    let eventLoop = EmbeddedEventLoop()
    let processes: PlayedProcesses
    let documents = PlayedDocuments()
    let services: InvocationServices
    let loop: InvocationLoop
    let function: ServedFunction

    init(
        budget: FunctionBudget? = nil, rateLimits: [RateLimitManifest] = [], timeoutSeconds: Int = 10,
        maxInstances: Int = 1, concurrency: Int = 1, queue: Int = 10
    ) {
        processes = PlayedProcesses(eventLoop)
        services = InvocationServices(documents: documents)
        loop = InvocationLoop(index: 0, eventLoop: eventLoop, idSource: InvocationIDSource())
        let manifest = FunctionManifest(
            name: "f", regions: ["us-central1"], memoryMiB: 256, timeoutSeconds: timeoutSeconds, cpu: 1,
            concurrency: concurrency, minInstances: 0, maxInstances: maxInstances, labels: [:], secrets: [],
            ingress: "all", invoker: [], isTransactional: false,
            trigger: .callable(.init(cors: .any, enforceAppCheck: false, heartbeatSeconds: nil)))
        let time = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)
        let pool = WorkerPool(
            name: "f",
            limits: .init(
                concurrency: concurrency, minInstances: 0, maxInstances: maxInstances, queue: queue, maxStarting: 1),
            launch: WorkerLaunch(
                executable: "/nowhere", environment: [:], params: ParamValues(function: "f"),
                limits: WorkerLimits(memory: 1 << 28)),
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
    func admit(delivery: InvocationDelivery? = nil) throws(AdmissionRefusal) -> PlayedClient {
        let client = PlayedClient()
        client.invocation = try function.admit(for: client, on: loop) {
            InvocationRequest(body: .bytes(ByteBuffer(string: "null")), delivery: delivery)
        }
        run()
        return client
    }
}

final class PlayedClient: InvocationClient {
    /// Weak, as the invocation keeps its client.
    weak var invocation: Invocation?
    /// What it was told, in order.
    private(set) var heard: [String] = []

    func invocationStarted() { heard.append("started") }
    func invocationSent(_ head: HTTPAnswerHead) { heard.append("head") }
    func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) { heard.append("chunk") }
    func invocationAnswered(_ outcome: InvocationOutcome) { heard.append("answered " + text(outcome)) }
    func invocationEnded(_ outcome: InvocationOutcome) { heard.append("ended " + text(outcome)) }

    private func text(_ outcome: InvocationOutcome) -> String {
        switch outcome {
        case .result(let body): String(buffer: body)
        case .failure(let failure): failure.message
        case .notStarted(let failure): "notStarted \(failure.message)"
        case .lost(let end, let wasAlone): "lost \(end.kind) \(wasAlone)"
        }
    }
}

/// `@unchecked Sendable`: used on the thread of its embedded loop only.
final class PlayedProcesses: WorkerProcesses, @unchecked Sendable {
    enum Start {
        case ready, silent, fails
    }

    private let loop: EmbeddedEventLoop
    var eventLoop: any EventLoop { loop }
    var start = Start.ready
    private(set) var workers: [PlayedWorker] = []

    init(_ loop: EmbeddedEventLoop) { self.loop = loop }

    func start(_ worker: Worker) {
        loop.execute { [self] in
            if start == .fails { return worker.startFailed(CancellationError()) }
            let played = PlayedWorker(worker, loop)
            workers.append(played)
            worker.started(played)
            played.connect()
            if start == .ready { played.send(.ready) { $0.writeInteger(Frame.protocolVersion) } }
        }
    }

    func receive() -> Bool { workers.reduce(false) { $1.receive() || $0 } }
}

/// `@unchecked Sendable`: used on the thread of its embedded loop only.
final class PlayedWorker: WorkerProcess, @unchecked Sendable {
    private let worker: Worker
    private let loop: EmbeddedEventLoop
    private let channel: EmbeddedChannel
    private var parser = FrameParser()
    private var hasEnded = false
    /// The frames that the host has sent and the test hasn't taken.
    var frames: [Frame] = []

    init(_ worker: Worker, _ loop: EmbeddedEventLoop) {
        self.worker = worker
        self.loop = loop
        channel = EmbeddedChannel(handler: worker.links[0], loop: loop)
    }

    func connect() {
        channel.connect(to: must { try SocketAddress(ipAddress: "127.0.0.1", port: 1) }, promise: nil)
    }

    func receive() -> Bool {
        var hasRead = false
        while var bytes = must({ try channel.readOutbound(as: ByteBuffer.self) }) {
            hasRead = true
            parser.append(&bytes)
            while let frame = must({ try parser.next() }) { frames.append(frame) }
        }
        return hasRead
    }

    private func must<Value>(_ body: () throws -> Value) -> Value {
        do { return try body() } catch { fatalError("\(error)") }
    }

    /// The ids of the invocations that came and weren't taken, in order.
    func takeInvocations() -> [UInt64] {
        defer { frames.removeAll { $0.kind == .invoke } }
        return frames.filter { $0.kind == .invoke }.map(\.invocation)
    }

    func send(_ kind: Frame.Kind, _ invocation: UInt64 = 0, _ body: (inout ByteBuffer) -> Void = { _ in }) {
        var bytes = ByteBuffer()
        bytes.writeFrame(kind, invocation: invocation, body)
        must { _ = try channel.writeInbound(bytes) }
    }

    func send(_ request: DocumentRequest, number: UInt32 = 1, _ invocation: UInt64) {
        send(.documentRequest, invocation) {
            $0.writeInteger(number)
            $0.writeBytes(request.encoded)
        }
    }

    func closeLink() { channel.close(promise: nil) }

    func exit() {
        guard !hasEnded else { return }
        hasEnded = true
        worker.processEnded(ProcessStatus(outcome: .signalled(9), cpuMicroseconds: 0, maxResidentKiB: 0))
    }

    func kill() { loop.execute { self.exit() } }
    func markActive() {}
    func workerEnded(_ end: WorkerEnd) {}
}

/// Documents that answer when the test says so.
final class PlayedDocuments: DocumentRequestBackend {
    typealias Operation = (request: DocumentRequest, answer: @Sendable (DocumentResponse) -> Void)

    private let operations = Mutex<[Operation]>([])
    private let releases = Mutex<[UInt64]>([])

    func perform(
        _ request: DocumentRequest, in context: OperationContext,
        completion: @escaping @Sendable (DocumentResponse) -> Void
    ) { operations.withLock { $0.append((request, completion)) } }

    func release(owner: UInt64) { releases.withLock { $0.append(owner) } }

    /// Answers the operation that came first.
    func answer(_ response: DocumentResponse) { operations.withLock { $0.removeFirst() }.answer(response) }

    var released: [UInt64] { releases.withLock { $0 } }
}
