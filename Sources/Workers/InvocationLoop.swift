import DocumentModel
package import WorkerProtocol
package import NIOCore

/// The invocations of one event loop: what the loop's connections have asked for and its links carry.
///
/// A connection, its invocations and the links they use stay on one loop, so that a call costs no hop.
///
/// `@unchecked Sendable`: every member but the constants is touched on `eventLoop` only.
package final class InvocationLoop: @unchecked Sendable {
    let index: Int
    package let eventLoop: any EventLoop
    private let idSource: InvocationIDSource
    private(set) var invocations: [UInt64: Invocation] = [:]
    private var unflushed: [WorkerLink] = []
    private var isSweeping = false

    /// How often deadlines are looked at: an answer comes at most so much after its deadline.
    private static let sweepInterval = TimeAmount.milliseconds(10)
    /// How long a handler may go on after its deadline.
    private static let overdueGrace = TimeAmount.seconds(2)
    /// A handler that hasn't begun by then won't soon: others block its worker's threads.
    private static let beginTime = TimeAmount.milliseconds(500)

    package init(index: Int, eventLoop: any EventLoop, idSource: InvocationIDSource) {
        self.index = index
        self.eventLoop = eventLoop
        self.idSource = idSource
    }

    /// Whether somebody waits for an answer.
    package var isBusy: Bool { invocations.values.contains { $0.isWanted } }

    package func nextID() -> UInt64 { idSource.next() }

    /// Hands the invocation to its function's pool: it runs at once, waits for a worker, or is refused.
    package func submit(_ invocation: Invocation) {
        invocations[invocation.id] = invocation
        sweepRegularly()
        invocation.pool.submit(invocation, on: self)
    }

    /// The client has left: the handler is told to stop, and has until its deadline to do so.
    package func clientLeft(_ invocation: Invocation) {
        stop(invocation, reason: .clientGone, giveUpAt: invocation.deadline + Self.overdueGrace)
    }

    /// Answers what still runs when the host stops.
    package func failAll(_ failure: InvocationFailure) {
        for invocation in Array(invocations.values) where invocation.isWanted {
            stop(invocation, reason: .shutdown, giveUpAt: eventLoop.now + Self.overdueGrace)
            invocation.client?.invocationEnded(.failure(failure))
        }
    }

    // MARK: From the pool

    func dispatch(_ id: UInt64, to worker: Worker) {
        guard let invocation = invocations[id], case .queued = invocation.state else {
            // It was withdrawn while the pool's decision was on its way here.
            return worker.pool.ended(in: worker.id, wasAbandoned: false, on: self)
        }
        let link = worker.links[index]
        // The worker died while the pool's decision was on its way here; the pool knows by now.
        guard link.isOpen, worker.began(invocation.head.executionID) else {
            return invocation.pool.submit(invocation, on: self)
        }
        invocation.state = .running(link)
        invocation.recallAt = eventLoop.now + Self.beginTime
        link.invoke(invocation)
        invocation.observer?.invocationStarted()
    }

    func fail(_ id: UInt64, _ failure: InvocationFailure) {
        guard let invocation = invocations[id], case .queued = invocation.state else { return }
        finish(invocation, .failure(failure))
    }

    // MARK: From links

    /// Ends an invocation and tells its client, where that still waits.
    func finish(_ invocation: Invocation, _ outcome: InvocationOutcome) {
        let isWanted = invocation.isWanted
        let link = invocation.link
        link?.worker.ended(invocation.head.executionID)
        if invocation.hasOpenWork { invocation.pool.services.documents.release(owner: invocation.id) }
        invocation.state = .ended
        invocations[invocation.id] = nil
        if isWanted { invocation.client?.invocationEnded(outcome) }
        invocation.observer?.invocationOver(link == nil ? .neverStarted : .returned)
    }

    /// Ends an invocation whose link is gone. Who follows it learns of its end with that of the process: a process
    /// without a link may still run the handler.
    func lost(_ invocation: Invocation, by worker: Worker) {
        let observer = invocation.observer.map { NIOLoopBound($0, eventLoop: eventLoop) }
        invocation.observer = nil
        if let observer {
            worker.whenGone { [eventLoop] end, wasAlone in
                eventLoop.execute { observer.value.invocationOver(.lost(end, wasAlone: wasAlone)) }
            }
        }
        finish(invocation, .failure(.internal))
    }

    /// A worker gave the invocation back before its handler began: it runs elsewhere, where somebody still waits for it.
    func recalled(_ invocation: Invocation, body: ByteBuffer, by worker: Worker) {
        worker.gaveBack(invocation.head.executionID)
        switch invocation.state {
        case .running:
            invocation.state = .queued
            invocation.body = body
            let ticket = WorkerPoolState.Ticket(invocation: invocation.id, loop: index)
            worker.pool.recalled(ticket, from: worker.id, wasAbandoned: false, on: self)
        case .unwanted: forget(invocation, recalledFrom: worker, wasAbandoned: false)
        case .abandoned: forget(invocation, recalledFrom: worker, wasAbandoned: true)
        case .queued, .ended: break
        }
    }

    private func forget(_ invocation: Invocation, recalledFrom worker: Worker, wasAbandoned: Bool) {
        invocation.state = .ended
        invocations[invocation.id] = nil
        invocation.observer?.invocationOver(.neverStarted)
        worker.pool.recalled(nil, from: worker.id, wasAbandoned: wasAbandoned, on: self)
    }

    func flushSoon(_ link: WorkerLink) {
        unflushed.append(link)
        guard unflushed.count == 1 else { return }
        eventLoop.execute {
            let links = self.unflushed
            self.unflushed.removeAll(keepingCapacity: true)
            for link in links { link.flush() }
        }
    }

    // MARK: Deadlines

    private func sweepRegularly() {
        guard !isSweeping else { return }
        isSweeping = true
        eventLoop.scheduleTask(in: Self.sweepInterval) {
            self.isSweeping = false
            self.sweep(now: self.eventLoop.now)
            if !self.invocations.isEmpty { self.sweepRegularly() }
        }
    }

    private func sweep(now: NIODeadline) {
        var due: [Invocation] = []
        var unanswered: [(Invocation, WorkerLink)] = []
        for invocation in invocations.values {
            switch invocation.state {
            case .queued:
                if invocation.deadline <= now { due.append(invocation) }
            case .running(let link):
                if invocation.deadline <= now {
                    due.append(invocation)
                } else if invocation.recallAt <= now {
                    // A process that ends others' work is busy and not blocked: what waits in it has its turn before long.
                    let begins = link.lastEnd + Self.beginTime
                    if begins > now { invocation.recallAt = begins } else { unanswered.append((invocation, link)) }
                }
            case .unwanted(_, let giveUpAt):
                if giveUpAt <= now { due.append(invocation) }
            case .abandoned, .ended:
                break
            }
        }
        for (invocation, link) in unanswered.sorted(by: { $0.0.id > $1.0.id }) { link.recall(invocation) }
        for invocation in due {
            if case .unwanted(let link, _) = invocation.state {
                invocation.state = .abandoned(link)
                invocation.pool.abandoned(in: link.worker.id, on: self)
            } else {
                stop(invocation, reason: .deadline, giveUpAt: now + Self.overdueGrace)
                invocation.client?.invocationEnded(.failure(.deadlineExceeded))
            }
        }
    }

    /// Nobody waits for the invocation any more: what it has begun is undone, and its handler is told.
    private func stop(_ invocation: Invocation, reason: CancellationReason, giveUpAt: NIODeadline) {
        switch invocation.state {
        case .queued:
            invocation.pool.withdraw(invocation, on: self)
            invocation.state = .ended
            invocations[invocation.id] = nil
            invocation.observer?.invocationOver(.neverStarted)
        case .running(let link):
            invocation.state = .unwanted(link, giveUpAt: giveUpAt)
            if invocation.hasOpenWork { invocation.pool.services.documents.release(owner: invocation.id) }
            link.cancel(invocation, reason: reason)
        case .unwanted, .abandoned, .ended:
            break
        }
    }
}

extension InvocationFailure {
    /// The callable protocol's words for what the host itself refuses.
    package static let deadlineExceeded = InvocationFailure(code: .deadlineExceeded, message: "DEADLINE_EXCEEDED")
    static let queueFull = InvocationFailure(code: .resourceExhausted, message: "Too many calls are waiting.")
    package static let stopping = InvocationFailure(code: .unavailable, message: "The server is stopping.")
    static let `internal` = InvocationFailure(code: .internal, message: "INTERNAL")
}
