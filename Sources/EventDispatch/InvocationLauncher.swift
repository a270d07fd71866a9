import DocumentModel
import DocumentStore
package import FunctionManifest
import WorkerProtocol
package import Workers
import NIOCore
import Synchronization

/// Runs handlers for deliveries in the function's workers, as invocations on the gateway's loops.
package final class InvocationLauncher: DeliveryLauncher {
    private let pool: WorkerPool
    private let gate: FunctionGate
    private let loops: [InvocationLoop]
    private let timeout: Int
    private let isQueue: Bool
    private let lastLoop = Atomic(0)

    package init(_ manifest: FunctionManifest, pool: WorkerPool, gate: FunctionGate, loops: [InvocationLoop]) {
        self.pool = pool
        self.gate = gate
        self.loops = loops
        timeout = manifest.timeoutSeconds
        isQueue = if case .task = manifest.trigger { true } else { false }
    }

    package func launch(_ starts: [DeliveryStart]) {
        let first = lastLoop.wrappingAdd(1, ordering: .relaxed).oldValue
        for offset in 0..<min(loops.count, starts.count) {
            let loop = loops[Int(UInt(bitPattern: first &+ offset) % UInt(loops.count))]
            let share = stride(from: offset, to: starts.count, by: loops.count).map { starts[$0] }
            loop.eventLoop.execute { for start in share { self.begin(start, on: loop) } }
        }
    }

    private func begin(_ start: DeliveryStart, on loop: InvocationLoop) {
        let stored = start.stored
        let chain: [String]
        var timeout = timeout
        do {
            if isQueue {
                let event = try Event(decoding: stored.event)
                chain = event.chain
                if case .task(let task) = event.content, let deadline = task.dispatchDeadline, deadline > 0 {
                    timeout = min(timeout, deadline)
                }
            } else {
                chain = try Event.chain(of: stored.event)
            }
        } catch {
            return start.onEnd(.unreadable("the event can't be read: \(error)"))
        }
        let attempt = DeliveryAttempt(
            event: stored.event, retryCount: stored.delivery.tries, executionCount: stored.delivery.executions,
            previousResponse: stored.delivery.lastStatus, retryReason: stored.delivery.lastError)
        let delivery = InvocationDelivery(lease: start.lease, chain: chain + [pool.name])
        let run = DeliveryRun(
            start, delivery: delivery, timeout: timeout, gate: gate, services: pool.services,
            eventLoop: loop.eventLoop)
        let invocation = Invocation(
            id: loop.nextID(), pool: pool, head: InvocationHead(executionID: ExecutionID.next(), timeLeft: 0),
            body: ByteBuffer(bytes: attempt.encoded), deadline: loop.eventLoop.now + .seconds(Int64(timeout)),
            completionKey: nil,
            client: run)
        invocation.delivery = delivery
        invocation.observer = run
        loop.submit(invocation)
    }
}
