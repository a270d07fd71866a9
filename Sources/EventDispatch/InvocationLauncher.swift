import CommitPipeline
import DocumentModel
import DocumentStore
import FunctionManifest
import WorkerProtocol
package import Workers
import NIOCore
import Synchronization

/// Runs handlers for deliveries in the function's workers, as invocations on the gateway's loops.
package final class InvocationLauncher: DeliveryLauncher {
    private let function: ServedFunction
    private let loops: [InvocationLoop]
    private let isQueue: Bool
    private let lastLoop = Atomic(0)

    package init(_ function: ServedFunction, loops: [InvocationLoop]) {
        self.function = function
        self.loops = loops
        isQueue = if case .task = function.manifest.trigger { true } else { false }
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
        var timeout = function.manifest.timeoutSeconds
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
        let delivery = InvocationDelivery(lease: start.lease, chain: chain + [function.manifest.name])
        let run = DeliveryRun(start, delivery: delivery, timeout: timeout, services: function.pool.services)
        do throws(AdmissionRefusal) {
            _ = try function.admit(for: run, on: loop) {
                InvocationRequest(
                    body: .attempt(stored.attempt), timeoutSeconds: timeout, delivery: delivery,
                    onEnd: { run.ended($0) })
            }
        } catch {
            start.onEnd(.refused)
        }
    }
}

extension StoredDelivery {
    fileprivate var attempt: DeliveryAttempt {
        DeliveryAttempt(
            event: event, retryCount: delivery.failedAttempts, executionCount: delivery.executions,
            previousResponse: delivery.lastStatus, retryReason: delivery.lastError)
    }
}
