import DocumentModel
package import FunctionManifest
package import WorkerProtocol
package import NIOCore

/// A served function: its manifest, its workers, and what decides whether an invocation may begin.
package final class ServedFunction: Sendable {
    package let manifest: FunctionManifest
    package let pool: WorkerPool
    package let gate: FunctionGate
    /// Nil if its callers' rates are unlimited.
    package let limiter: RateLimiter?
    package let calls: CallCounters

    package init(manifest: FunctionManifest, pool: WorkerPool, gate: FunctionGate, limiter: RateLimiter?) {
        self.manifest = manifest
        self.pool = pool
        self.gate = gate
        self.limiter = limiter
        calls = pool.services.calls.counters(of: manifest.name)
    }

    /// Admits an invocation: calls, requests, events and tasks all begin here. It starts at once or waits for a worker,
    /// and counts for the function's rate limits and budget.
    ///
    /// - Parameters:
    ///   - user: the verified user; nil if there is none.
    ///   - address: where the request comes from; nil for an event.
    ///   - request: called once the limits have let it pass.
    /// - Returns: the invocation. It may have ended by then: the pool refuses one that has no place in the queue.
    /// - Throws: ``AdmissionRefusal`` if it may not begin; the client isn't called then.
    package func admit(
        user: InvocationHead.VerifiedIdentity? = nil, address: IPAddress? = nil, for client: any InvocationClient,
        on loop: InvocationLoop, _ request: () -> InvocationRequest
    ) throws(AdmissionRefusal) -> Invocation {
        if let limiter, let refusal = limiter.refuse(user: user?.id, address: address, now: loop.eventLoop.now) {
            throw AdmissionRefusal(
                failure: .rateLimited(refusal, manifest.name), retryAfterSeconds: refusal.retryAfter)
        }
        if let refusal = gate.admit() {
            throw AdmissionRefusal(failure: .refused(refusal, manifest.name), retryAfterSeconds: nil)
        }
        let invocation = Invocation(
            request(), of: self, user: user, address: address, for: client, on: loop)
        loop.add(invocation)
        pool.submit(invocation, on: loop)
        return invocation
    }
}

extension ServedFunction {
    /// Counts a call or a request that was refused before it became an invocation, by the status of its answer.
    package func countRefusal(_ failure: InvocationFailure, now: NIODeadline) {
        calls.addRefusal(failure.code, at: now)
    }
}

/// Why an invocation may not begin.
package struct AdmissionRefusal: Error, Equatable {
    package var failure: InvocationFailure
    /// Whole seconds after which another try makes sense; nil if that isn't known.
    package var retryAfterSeconds: Int64?
}

extension InvocationFailure {
    /// The failure of a call to a function that takes none.
    static func refused(_ refusal: FunctionGate.Refusal, _ function: String) -> InvocationFailure {
        let reason =
            switch refusal {
            case .paused: "is paused"
            case .budgetUsedUp: "has used up its budget for today"
            }
        return InvocationFailure(code: .unavailable, message: "\(function) \(reason).")
    }
}
