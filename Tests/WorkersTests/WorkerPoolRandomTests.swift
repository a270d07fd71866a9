import TestSupport
@testable import Workers
import NIOCore
import Testing

/// Whatever happens in whatever order, the pool's promises hold.
@Suite struct WorkerPoolRandomTests {
    @Test(arguments: 0..<30) func promisesHoldUnderRandomEvents(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var run = PoolRun(
            limits: .init(
                concurrency: Int.random(in: 1...4, using: &random), minInstances: Int.random(in: 0...2, using: &random),
                maxInstances: Int.random(in: 2...6, using: &random), queue: Int.random(in: 0...20, using: &random),
                maxStarting: Int.random(in: 1...3, using: &random), keepAlive: .milliseconds(200)))
        run.apply(run.pool.began(now: run.now))
        for _ in 0..<3000 { run.step(&random) }
        run.finish()
    }
}

/// A pool, and what its runner would know of it.
private struct PoolRun {
    struct Worker {
        enum Phase { case starting, ready, blocked, draining }
        var phase = Phase.starting
        /// Whether a link broke while it was starting.
        var isBroken = false
        var running: [UInt64] = []
        var abandoned: Set<UInt64> = []
    }

    let limits: WorkerPoolState.Limits
    var pool: WorkerPoolState
    var now = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    var workers: [UInt64: Worker] = [:]
    var waiting: [UInt64: Caller?] = [:]
    var ended: Set<UInt64> = []
    var issued: UInt64 = 0
    var wakes: [NIODeadline] = []
    var isStopping = false

    init(limits: WorkerPoolState.Limits) {
        self.limits = limits
        pool = WorkerPoolState(limits: limits)
    }

    mutating func step(_ random: inout SeededGenerator) {
        now = now + .milliseconds(Int64.random(in: 0...50, using: &random))
        var ticks = 0
        while let due = wakes.filter({ $0 <= now }).min() {
            wakes.removeAll { $0 == due }
            apply(pool.tick(now: now))
            ticks += 1
            guard ticks < 10 else { return #expect(Bool(false), "ticks ask for further ones without end") }
        }
        switch Int.random(in: 0..<14, using: &random) {
        case 0...4: arrive(&random)
        case 5, 6: finishOne(&random)
        case 7, 8:
            guard let id = pick(&random, { $0.phase == .starting }) else { return }
            if workers[id]?.isBroken == false { workers[id]?.phase = .ready }
            apply(pool.workerBecameReady(id, now: now))
        case 9:
            guard let id = pick(&random, { _ in true }) else { return }
            gone(id, crashed: Bool.random(using: &random))
        case 10:
            guard let id = pick(&random, { $0.running.count > $0.abandoned.count }), let worker = workers[id],
                let ticket = worker.running.first(where: { !worker.abandoned.contains($0) })
            else { return }
            workers[id]?.abandoned.insert(ticket)
            workers[id]?.phase = .draining
            apply(pool.abandoned(in: id, now: now))
        case 11:
            guard let id = pick(&random, { $0.phase != .draining }) else { return }
            if workers[id]?.phase == .starting { workers[id]?.isBroken = true } else { workers[id]?.phase = .draining }
            pool.workerBroke(id, isCrash: Bool.random(using: &random), now: now)
            check()
        case 12: returnOne(&random)
        default:
            guard let (ticket, caller) = waiting.sorted(by: { $0.key < $1.key }).randomElement(using: &random) else {
                return
            }
            let withdrawn = pool.withdrew(.init(invocation: ticket, loop: 0), of: caller)
            #expect(withdrawn)
            waiting[ticket] = nil
            end(ticket)
            check()
        }
    }

    /// All that is left ends: every ticket has ended then, once.
    mutating func finish() {
        isStopping = true
        apply(pool.stop())
        for id in workers.keys.sorted() { gone(id, crashed: false) }
        #expect(waiting.isEmpty)
        #expect(ended.count == Int(issued))
        #expect(pool.instances == 0)
        #expect(pool.arrived(.init(invocation: 0, loop: 0), now: now) == [.refuse(.init(invocation: 0, loop: 0))])
    }

    private mutating func arrive(_ random: inout SeededGenerator) {
        issued += 1
        let caller: Caller? =
            Bool.random(using: &random) ? .user("\(Int.random(in: 0..<4, using: &random))") : nil
        let mayWait = waiting.count < limits.queue
        waiting[issued] = caller
        let actions = pool.arrived(.init(invocation: issued, loop: 0), of: caller, now: now)
        if case .refuse? = actions.first, caller == nil { #expect(!mayWait) }
        apply(actions)
    }

    private mutating func finishOne(_ random: inout SeededGenerator) {
        guard let id = pick(&random, { !$0.running.isEmpty }),
            let ticket = workers[id]?.running.randomElement(using: &random)
        else { return }
        workers[id]?.running.removeAll { $0 == ticket }
        let wasAbandoned = workers[id]?.abandoned.remove(ticket) != nil
        if workers[id]?.phase == .blocked { workers[id]?.phase = .ready }
        end(ticket)
        apply(pool.ended(in: id, wasAbandoned: wasAbandoned, now: now))
    }

    private mutating func returnOne(_ random: inout SeededGenerator) {
        guard let id = pick(&random, { !$0.running.isEmpty }),
            let ticket = workers[id]?.running.randomElement(using: &random)
        else { return }
        workers[id]?.running.removeAll { $0 == ticket }
        let wasAbandoned = workers[id]?.abandoned.remove(ticket) != nil
        if workers[id]?.phase == .ready { workers[id]?.phase = .blocked }
        if wasAbandoned { end(ticket) } else { waiting[ticket] = .some(nil) }
        apply(
            pool.recalled(
                wasAbandoned ? nil : .init(invocation: ticket, loop: 0), from: id, wasAbandoned: wasAbandoned, now: now)
        )
    }

    private mutating func gone(_ id: UInt64, crashed: Bool) {
        for ticket in workers[id]?.running ?? [] { end(ticket) }
        workers[id] = nil
        apply(pool.workerEnded(id, crashed: crashed, now: now))
    }

    private mutating func end(_ ticket: UInt64) { #expect(ended.insert(ticket).inserted, "\(ticket) ended twice") }

    private func pick(_ random: inout SeededGenerator, _ isMeant: (Worker) -> Bool) -> UInt64? {
        workers.filter { isMeant($0.value) }.keys.sorted().randomElement(using: &random)
    }

    mutating func apply(_ actions: [WorkerPoolState.Action]) {
        for action in actions {
            switch action {
            case .start(let id):
                #expect(workers[id] == nil)
                workers[id] = Worker()
            case .dispatch(let ticket, let id):
                #expect(waiting.removeValue(forKey: ticket.invocation) != nil)
                #expect(workers[id]?.phase == .ready)
                workers[id]?.running.append(ticket.invocation)
            case .refuse(let ticket), .fail(let ticket), .returnDelivery(let ticket):
                #expect(waiting.removeValue(forKey: ticket.invocation) != nil)
                end(ticket.invocation)
            case .end(let id):
                #expect(workers[id]?.running.isEmpty == true)
                workers[id]?.phase = .draining
            case .kill(let id):
                #expect(workers[id].map { $0.running.count == $0.abandoned.count } == true)
            case .wake(let time): wakes.append(time)
            case .recall(let id): #expect(workers[id]?.running.isEmpty == false)
            }
        }
        check()
    }

    private func check() {
        let starting = workers.values.count { $0.phase == .starting }
        let serving = workers.values.count { $0.phase != .draining }
        #expect(pool.instances == workers.count)
        #expect(workers.count <= limits.maxInstances)
        #expect(starting <= limits.maxStarting)
        #expect(workers.values.allSatisfy { $0.running.count <= limits.concurrency })
        #expect(pool.queued == waiting.count)
        let hasRoom = workers.values.contains { $0.phase == .ready && $0.running.count < limits.concurrency }
        #expect(waiting.isEmpty || !hasRoom, "a call waits while there is room")
        let isWanted = waiting.count > starting * limits.concurrency || serving < limits.minInstances
        let mayStart = workers.count < limits.maxInstances && starting < limits.maxStarting
        if isWanted && mayStart && !hasBroken && !isStopping {
            #expect(!wakes.isEmpty, "nothing will start a worker that is needed")
        }
    }

    /// A worker whose link broke is replaced once its process has ended, which is certain to come.
    private var hasBroken: Bool { workers.values.contains { $0.phase == .draining || $0.isBroken } }
}
