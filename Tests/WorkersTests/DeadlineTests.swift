import StorageEngine
import DocumentModel
import FunctionManifest
import WorkerProtocol
import DocumentStore
@testable import Workers
import NIOCore
import NIOEmbedded
import Testing

/// Deadlines on a clock that stands still until it is told to go on.
struct DeadlineTests {
    private final class Caller: InvocationClient {
        private(set) var failures: [InvocationFailure] = []

        func invocationSent(_ head: HTTPAnswerHead) {}
        func invocationSent(chunk: ByteBuffer, taken: @escaping () -> Void) { taken() }
        func invocationEnded(_ outcome: InvocationOutcome) {
            if case .failure(let failure) = outcome { failures.append(failure) }
        }
    }

    /// The time in the queue counts: no worker is ever there for these calls.
    @Test func theDeadlineCountsFromAdmissionAndIsKeptWithin50Milliseconds() async throws {
        let eventLoop = EmbeddedEventLoop()
        let store = try DocumentStore(engine: MemoryEngine(), now: Timestamp.now)
        let supervisor = WorkerSupervisor()
        let loop = InvocationLoop(index: 0, eventLoop: eventLoop, idSource: InvocationIDSource())
        let pool = WorkerPool(
            name: "waits", limits: .init(concurrency: 1, minInstances: 0, maxInstances: 0, queue: 10, maxStarting: 1),
            launch: WorkerLaunch(
                executable: "/nowhere", environment: [:], params: ParamValues(function: "waits"),
                limits: WorkerLimits(memory: 1 << 28)),
            services: InvocationServices(documents: store), processes: supervisor, loops: [loop])
        let callers = (0..<3).map { _ in Caller() }
        for (number, caller) in callers.enumerated() {
            let head = InvocationHead(executionID: "\(number)", timeLeft: 0)
            loop.submit(
                Invocation(
                    id: loop.nextID(), pool: pool, head: head, body: ByteBuffer(),
                    deadline: eventLoop.now + .seconds(Int64(number + 1)), completionKey: nil, client: caller))
        }
        var answeredAt: [Int: Int] = [:]
        for millisecond in 1...3100 {
            eventLoop.advanceTime(by: .milliseconds(1))
            for number in 0..<3 where answeredAt[number] == nil && !callers[number].failures.isEmpty {
                answeredAt[number] = millisecond
            }
        }
        for number in 0..<3 {
            #expect(callers[number].failures == [.deadlineExceeded])
            let late = try #require(answeredAt[number]) - 1000 * (number + 1)
            #expect((0...50).contains(late), "\(late) ms")
        }
        #expect(!loop.isBusy)
        await store.shutdown()
        await supervisor.shutdown()
    }
}
