@testable import Workers
import NIOCore
import Testing

@Suite struct WorkerPoolStateTests {
    private typealias Action = WorkerPoolState.Action
    private typealias Ticket = WorkerPoolState.Ticket
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)

    private func pool(
        concurrency: Int = 2, min: Int = 0, max: Int = 3, queue: Int = 10, starting: Int = 10,
        runsDeliveries: Bool = false
    ) -> WorkerPoolState {
        WorkerPoolState(
            limits: .init(
                concurrency: concurrency, minInstances: min, maxInstances: max, queue: queue, maxStarting: starting,
                runsDeliveries: runsDeliveries, keepAlive: .seconds(60)))
    }

    private func ticket(_ id: UInt64) -> Ticket { Ticket(invocation: id, loop: 0) }

    @Test func firstCallStartsAWorkerAndWaitsForIt() {
        var pool = pool()
        #expect(pool.arrived(ticket(1), now: start) == [.start(1)])
        #expect(pool.workerBecameReady(1, now: start) == [.dispatch(ticket(1), to: 1)])
    }

    @Test func callsFillAStartingWorkerBeforeAnotherIsStarted() {
        var pool = pool(concurrency: 2)
        #expect(pool.arrived(ticket(1), now: start) == [.start(1)])
        #expect(pool.arrived(ticket(2), now: start) == [])
        #expect(pool.arrived(ticket(3), now: start) == [.start(2)])
        #expect(pool.workerBecameReady(1, now: start) == [.dispatch(ticket(1), to: 1), .dispatch(ticket(2), to: 1)])
    }

    @Test func concurrencyAndMaxInstancesHold() {
        var pool = pool(concurrency: 1, max: 2)
        var actions: [Action] = []
        for id in 1...5 { actions += pool.arrived(ticket(UInt64(id)), now: start) }
        #expect(actions == [.start(1), .start(2)])
        #expect(pool.workerBecameReady(1, now: start) == [.dispatch(ticket(1), to: 1)])
        #expect(pool.workerBecameReady(2, now: start) == [.dispatch(ticket(2), to: 2)])
        #expect(pool.ended(in: 1, now: start) == [.dispatch(ticket(3), to: 1)])
        #expect(pool.queued == 2)
    }

    /// So that the others become idle and can go.
    @Test func theFullestWorkerThatHasRoomGetsTheNextCall() {
        var pool = pool(concurrency: 3, min: 3)
        _ = pool.began(now: start)
        for id in 1...3 { _ = pool.workerBecameReady(WorkerPoolState.WorkerID(id), now: start) }
        #expect(pool.arrived(ticket(1), now: start) == [.dispatch(ticket(1), to: 1)])
        #expect(pool.arrived(ticket(2), now: start) == [.dispatch(ticket(2), to: 1)])
        #expect(pool.arrived(ticket(3), now: start) == [.dispatch(ticket(3), to: 1)])
        #expect(pool.arrived(ticket(4), now: start) == [.dispatch(ticket(4), to: 2)])
        _ = pool.ended(in: 1, now: start)
        #expect(pool.arrived(ticket(5), now: start) == [.dispatch(ticket(5), to: 1)])
    }

    @Test func aDrainedPoolDoesWhatWasRoutedToItAndKeepsNoWorker() {
        var pool = pool(concurrency: 1, min: 2, max: 2)
        #expect(pool.began(now: start) == [.start(1), .start(2)])
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.workerBecameReady(2, now: start)
        #expect(pool.arrived(ticket(1), now: start) == [.dispatch(ticket(1), to: 1)])
        #expect(pool.drain() == [.end(2)])
        // What was routed here before the switch, and whose body has come only now.
        #expect(pool.arrived(ticket(2), now: start) == [])
        #expect(pool.ended(in: 1, now: start) == [.dispatch(ticket(2), to: 1)])
        #expect(pool.ended(in: 1, now: start) == [.end(1)])
        #expect(pool.workerEnded(2, crashed: false, now: start) == [])
        #expect(pool.workerEnded(1, crashed: false, now: start) == [])
        #expect(pool.arrived(ticket(3), now: start) == [.start(3)])
        #expect(pool.workerBecameReady(3, now: start) == [.dispatch(ticket(3), to: 3)])
    }

    @Test func aDrainedPoolGivesBackTheDeliveriesThatNoWorkerHasBegun() {
        var pool = pool(concurrency: 1, max: 1, runsDeliveries: true)
        #expect(pool.arrived(ticket(1), now: start) == [.start(1)])
        #expect(pool.arrived(ticket(2), now: start) == [])
        #expect(pool.workerBecameReady(1, now: start) == [.dispatch(ticket(1), to: 1)])
        #expect(pool.drain() == [.returnDelivery(ticket(2))])
        #expect(pool.queued == 0)
        #expect(pool.arrived(ticket(3), now: start) == [.returnDelivery(ticket(3))])
        #expect(pool.ended(in: 1, now: start) == [.end(1)])
        // A worker's threads are blocked.
        var blocked = self.pool(concurrency: 2, max: 1, runsDeliveries: true)
        _ = blocked.arrived(ticket(1), now: start)
        _ = blocked.arrived(ticket(2), now: start)
        _ = blocked.workerBecameReady(1, now: start)
        #expect(blocked.drain() == [])
        #expect(blocked.recalled(ticket(2), from: 1, now: start) == [.recall(1), .returnDelivery(ticket(2))])
    }

    @Test func aProbeStartsAsManyAsItIsAskedFor() {
        var pool = pool(min: 2, max: 5, starting: 2)
        // One, whatever shall be kept warm later.
        #expect(pool.probe(1, now: start) == [.start(1)])
        #expect(pool.probe(1, now: start) == [])
        #expect(!pool.isProbed)
        #expect(pool.workerBecameReady(1, now: start) == [])
        #expect(pool.isProbed && pool.readyWorkers == 1)
        // No more at a time than are ever started, and no more than there may be.
        #expect(pool.probe(7, now: start) == [.start(2), .start(3)])
        #expect(pool.workerBecameReady(2, now: start) == [.start(4)])
        _ = pool.workerBecameReady(3, now: start)
        _ = pool.workerBecameReady(4, now: start)
        #expect(!pool.isProbed)
        _ = pool.workerBecameReady(5, now: start)
        #expect(pool.isProbed && pool.instances == 5)
        // From then on the surplus workers become idle as usual.
        #expect(pool.began(now: start) == [])
        let ends = pool.tick(now: start + .seconds(61)).filter { if case .end = $0 { true } else { false } }
        #expect(ends.count == 3)
    }

    @Test func aProbeThatIsCooledStartsNothingMoreUntilThePoolBegins() {
        var pool = pool(max: 5)
        _ = pool.probe(1, now: start)
        _ = pool.workerBecameReady(1, now: start)
        #expect(pool.retireIdleWorkers() == [.end(1)])
        #expect(pool.workerEnded(1, crashed: false, now: start) == [])
        #expect(pool.began(now: start) == [])
        var warm = self.pool(min: 2, max: 5)
        _ = warm.probe(1, now: start)
        _ = warm.workerBecameReady(1, now: start)
        #expect(warm.retireIdleWorkers() == [])
        #expect(warm.began(now: start) == [.start(2)])
    }

    @Test func aProbeThatCrashesIsNotTriedAgain() {
        var pool = pool(min: 2, max: 5)
        #expect(pool.probe(1, now: start) == [.start(1)])
        #expect(pool.workerEnded(1, crashed: true, now: start) == [])
        #expect(pool.instances == 0)
    }

    @Test func nothingIsProbedOnceThePoolStops() {
        var pool = pool(max: 5)
        _ = pool.probe(3, now: start)
        #expect(pool.stop() == [.end(1), .end(2), .end(3)])
        for id in 1...3 { #expect(pool.workerEnded(UInt64(id), crashed: false, now: start) == []) }
        #expect(pool.probe(1, now: start) == [])
    }

    @Test func whatIsKeptWarmOrWorksIsNotCooled() {
        var pool = pool(concurrency: 1, min: 1, max: 3)
        _ = pool.began(now: start)
        _ = pool.workerBecameReady(1, now: start)
        #expect(pool.retireIdleWorkers() == [])
        #expect(pool.arrived(ticket(1), now: start) == [.dispatch(ticket(1), to: 1)])
        _ = pool.arrived(ticket(2), now: start)
        _ = pool.workerBecameReady(2, now: start)
        #expect(pool.retireIdleWorkers() == [])
        _ = pool.ended(in: 2, now: start)
        #expect(pool.retireIdleWorkers() == [.end(2)])
    }

    @Test func fullQueueRefuses() {
        var pool = pool(concurrency: 1, max: 1, queue: 2)
        for id in 1...2 { _ = pool.arrived(ticket(UInt64(id)), now: start) }
        #expect(pool.arrived(ticket(3), now: start) == [.refuse(ticket(3))])
    }

    @Test func withdrawnCallIsNotDispatched() {
        var pool = pool()
        _ = pool.arrived(ticket(1), now: start)
        let withdrawn = pool.withdrew(ticket(1))
        #expect(withdrawn)
        let again = pool.withdrew(ticket(1))
        #expect(!again)
        #expect(pool.workerBecameReady(1, now: start) == [.wake(at: start + .seconds(60))])
    }

    @Test func idleWorkerIsRetiredAfterKeepAliveDownToMinInstances() {
        var pool = pool(min: 1)
        #expect(pool.began(now: start) == [.start(1)])
        _ = pool.workerBecameReady(1, now: start)
        for id in 1...4 { _ = pool.arrived(ticket(UInt64(id)), now: start) }
        _ = pool.workerBecameReady(2, now: start)
        for _ in 1...2 {
            _ = pool.ended(in: 1, now: start)
            _ = pool.ended(in: 2, now: start)
        }
        #expect(pool.tick(now: start + .seconds(59)).contains { if case .end = $0 { true } else { false } } == false)
        let actions = pool.tick(now: start + .seconds(60))
        #expect(actions.count { if case .end = $0 { true } else { false } } == 1)
    }

    @Test func anIdleWorkerThatIsKeptAsksForNoTickWhileOthersComeAndGo() {
        var pool = pool(concurrency: 1, min: 1, max: 3)
        _ = pool.began(now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.arrived(ticket(2), now: start)
        #expect(pool.ended(in: 1, now: start) == [.dispatch(ticket(2), to: 1)])
        // The second one is still on its start when the first has long been idle: a tick would end nothing.
        #expect(pool.ended(in: 1, now: start) == [])
        let late = start + .seconds(100)
        #expect(pool.tick(now: late) == [])
        #expect(pool.workerBecameReady(2, now: late) == [.wake(at: start + .seconds(60))])
        #expect(pool.tick(now: late) == [.end(1)])
    }

    @Test func becomingIdleOftenAsksForOneTickOnly() {
        var pool = pool()
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        var wakes = 0
        for id in 2...100 {
            wakes += pool.ended(in: 1, now: start).count
            _ = pool.arrived(ticket(UInt64(id)), now: start)
        }
        #expect(wakes == 1)
    }

    @Test func crashedWorkerIsReplacedAtOnceThenWithGrowingPauses() {
        var pool = pool(min: 1)
        #expect(pool.began(now: start) == [.start(1)])
        #expect(pool.workerEnded(1, crashed: true, now: start) == [.start(2)])
        #expect(pool.workerEnded(2, crashed: true, now: start) == [.wake(at: start + .milliseconds(100))])
        let second = start + .milliseconds(100)
        #expect(pool.tick(now: second) == [.start(3)])
        #expect(pool.workerEnded(3, crashed: true, now: second) == [.wake(at: second + .milliseconds(200))])
        #expect(WorkerPoolState.pause(afterCrashes: 1000, hadStarted: false) == .seconds(10))
    }

    @Test(arguments: [true, false]) func callsWaitASecondAtMostForTheNextWorkerAfterTraps(isNoticedEarly: Bool) {
        var pool = pool()
        var now = start
        for id in 1...20 as ClosedRange<UInt64> {
            #expect(pool.arrived(ticket(id), now: now) + pool.tick(now: now) == [.start(id)])
            #expect(pool.workerBecameReady(id, now: now) == [.dispatch(ticket(id), to: id)])
            if isNoticedEarly { pool.workerBroke(id, isCrash: true, now: now) }
            #expect(pool.workerEnded(id, crashed: true, now: now) == [])
            now = now + .seconds(1)
        }
    }

    @Test func anInvocationThatEndsResetsThePauses() {
        var pool = pool()
        var now = start
        for round in 1...5 {
            let id = UInt64(round)
            #expect(pool.arrived(ticket(id), now: now) == [.start(id)])
            _ = pool.workerBecameReady(id, now: now)
            _ = pool.ended(in: id, now: now)
            #expect(pool.workerEnded(id, crashed: true, now: now) == [])
            now = now + .milliseconds(1)
        }
    }

    @Test func callsFailWhenWorkersKeepFailingToStart() {
        var pool = pool()
        #expect(pool.arrived(ticket(1), now: start) == [.start(1)])
        #expect(pool.workerEnded(1, crashed: true, now: start) == [.start(2)])
        _ = pool.workerEnded(2, crashed: true, now: start)
        _ = pool.tick(now: start + .seconds(1))
        #expect(pool.workerEnded(3, crashed: true, now: start + .seconds(1)) == [.fail(ticket(1))])
        #expect(pool.queued == 0)
    }

    @Test func workerWithAnAbandonedInvocationGetsNoWorkAndIsKilledWhenAlone() {
        var pool = pool(concurrency: 2)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.arrived(ticket(2), now: start)
        #expect(pool.abandoned(in: 1, now: start) == [.recall(1)])
        #expect(pool.arrived(ticket(3), now: start) == [.start(2)])
        #expect(pool.ended(in: 1, now: start) == [.kill(1)])
    }

    @Test func abandonedInvocationThatEndsAfterAllEndsItsWorkerGently() {
        var pool = pool(concurrency: 2)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.arrived(ticket(2), now: start)
        _ = pool.abandoned(in: 1, now: start)
        #expect(pool.ended(in: 1, wasAbandoned: true, now: start) == [])
        #expect(pool.ended(in: 1, now: start) == [.end(1)])
    }

    @Test func workerThatBrokeGetsNoWorkAndItsEndStartsAnother() {
        var pool = pool(concurrency: 2)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        pool.workerBroke(1, isCrash: true, now: start)
        #expect(pool.arrived(ticket(2), now: start) == [.start(2)])
        #expect(pool.workerEnded(1, crashed: true, now: start) == [])
        #expect(pool.workerBecameReady(2, now: start) == [.dispatch(ticket(2), to: 2)])
    }

    /// Its other links may be ready, but invocations of one loop couldn't reach it.
    @Test func aWorkerThatBreaksWhileItStartsDoesNotBecomeReady() {
        var pool = pool()
        #expect(pool.arrived(ticket(1), now: start) == [.start(1)])
        pool.workerBroke(1, isCrash: true, now: start)
        #expect(pool.workerBecameReady(1, now: start) == [])
        #expect(pool.readyWorkers == 0)
        #expect(pool.workerEnded(1, crashed: true, now: start) == [.start(2)])
        #expect(pool.workerBecameReady(2, now: start) == [.dispatch(ticket(1), to: 2)])
    }

    /// It isn't the host that ends it.
    @Test func aBrokenWorkerWhoseLastInvocationEndsIsLeftToItself() {
        var pool = pool()
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        pool.workerBroke(1, isCrash: true, now: start)
        #expect(pool.ended(in: 1, now: start) == [])
        #expect(pool.instances == 1)
        #expect(pool.stop() == [.end(1)])
    }

    /// Its process may take long to end, and the next must not be started as if nothing had been.
    @Test func aCrashCountsFromTheLossOfTheWorker() {
        var pool = pool(concurrency: 1)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        // Each of its links is closed.
        for _ in 0..<2 { pool.workerBroke(1, isCrash: true, now: start) }
        #expect(pool.arrived(ticket(2), now: start) == [.start(2)])
        #expect(pool.workerEnded(1, crashed: true, now: start) == [])
        #expect(pool.workerBecameReady(2, now: start) == [.dispatch(ticket(2), to: 2)])
        pool.workerBroke(2, isCrash: true, now: start)
        #expect(pool.arrived(ticket(3), now: start) == [.wake(at: start + .milliseconds(100))])
        #expect(pool.workerEnded(2, crashed: true, now: start + .milliseconds(50)) == [])
        #expect(pool.tick(now: start + .milliseconds(100)) == [.start(3)])
    }

    @Test func stoppingRefusesWhatWaitsAndEndsWhatIsIdle() {
        var pool = pool(concurrency: 1, max: 1)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.arrived(ticket(2), now: start)
        #expect(pool.stop() == [.refuse(ticket(2))])
        #expect(pool.arrived(ticket(3), now: start) == [.refuse(ticket(3))])
        #expect(pool.ended(in: 1, now: start) == [.end(1)])
    }

    @Test func whatAWorkerGivesBackIsTheFirstToRunElsewhere() {
        var pool = pool(concurrency: 2)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.arrived(ticket(2), now: start)
        #expect(pool.arrived(ticket(3), now: start) == [.start(2)])
        #expect(pool.recalled(ticket(2), from: 1, now: start) == [.recall(1)])
        // The blocked worker has room, and gets nothing.
        #expect(pool.arrived(ticket(4), now: start) == [.start(3)])
        #expect(pool.workerBecameReady(2, now: start) == [.dispatch(ticket(2), to: 2), .dispatch(ticket(3), to: 2)])
        // Something in it has ended: it is free again.
        #expect(pool.ended(in: 1, now: start).first == .dispatch(ticket(4), to: 1))
    }

    @Test func whatIsGivenBackGoesToAWorkerThatIsThere() {
        var pool = pool(concurrency: 1, min: 2)
        _ = pool.began(now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.workerBecameReady(2, now: start)
        #expect(pool.arrived(ticket(1), now: start) == [.dispatch(ticket(1), to: 1)])
        #expect(pool.recalled(ticket(1), from: 1, now: start).contains(.dispatch(ticket(1), to: 2)))
    }

    @Test func aWorkerBlockedByNoInvocationIsEnded() {
        var pool = pool(concurrency: 2)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        #expect(pool.recalled(ticket(1), from: 1, now: start) == [.end(1), .start(2)])
    }

    @Test func whatAnAbandonedWorkerGivesBackLetsItBeKilled() {
        var pool = pool(concurrency: 3)
        for id in 1...3 { _ = pool.arrived(ticket(UInt64(id)), now: start) }
        _ = pool.workerBecameReady(1, now: start)
        #expect(pool.abandoned(in: 1, now: start) == [.recall(1)])
        #expect(pool.recalled(ticket(2), from: 1, now: start) == [.start(2)])
        // Its caller has left meanwhile.
        #expect(pool.recalled(nil, from: 1, now: start) == [.kill(1)])
        #expect(pool.workerBecameReady(2, now: start) == [.dispatch(ticket(2), to: 2)])
    }

    @Test func abandonedInvocationThatIsGivenBackIsNoReasonToKill() {
        var pool = pool(concurrency: 2)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.abandoned(in: 1, now: start)
        #expect(pool.recalled(nil, from: 1, wasAbandoned: true, now: start) == [.end(1)])
    }

    @Test func whatIsGivenBackIsQueuedThoughTheQueueIsFull() {
        var pool = pool(concurrency: 1, max: 1, queue: 1)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.arrived(ticket(2), now: start)
        #expect(pool.recalled(ticket(1), from: 1, now: start) == [.end(1)])
        #expect(pool.workerEnded(1, crashed: false, now: start) == [.start(2)])
        #expect(pool.workerBecameReady(2, now: start) == [.dispatch(ticket(1), to: 2)])
        #expect(pool.queued == 1)
    }

    @Test func aBurstStartsOnlySomeWorkersAtATimeAndGoesOnWhileItIsNeeded() {
        var pool = pool(concurrency: 1, max: 100, queue: 100, starting: 2)
        var started: [Action] = []
        for id in 1...10 { started += pool.arrived(ticket(UInt64(id)), now: start) }
        #expect(started == [.start(1), .start(2)])
        #expect(pool.workerBecameReady(1, now: start) == [.dispatch(ticket(1), to: 1), .start(3)])
        // Short calls: the first worker has done all but two before the others are ready.
        for id in 2...8 { #expect(pool.ended(in: 1, now: start) == [.dispatch(ticket(UInt64(id)), to: 1)]) }
        #expect(pool.workerBecameReady(2, now: start) == [.dispatch(ticket(9), to: 2)])
        #expect(pool.instances == 3)
    }

    @Test func minInstancesAreStartedWithinTheBoundToo() {
        var pool = pool(min: 3, starting: 2)
        #expect(pool.began(now: start) == [.start(1), .start(2)])
        #expect(pool.workerBecameReady(2, now: start) == [.start(3)])
        #expect(pool.workerBecameReady(1, now: start) == [])
    }

    @Test func aDrainingWorkerTakesAPlaceOfMaxInstancesUntilItIsGone() {
        var pool = pool(concurrency: 2, min: 1, max: 1)
        _ = pool.began(now: start)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.arrived(ticket(1), now: start)
        _ = pool.arrived(ticket(2), now: start)
        #expect(pool.abandoned(in: 1, now: start) == [.recall(1)])
        #expect(pool.arrived(ticket(3), now: start) == [])
        #expect(pool.workerEnded(1, crashed: false, now: start) == [.start(2)])
    }

    @Test func whatWaitsIsServedInTurnByCaller() {
        var pool = pool(concurrency: 1, max: 1, queue: 10)
        let (ada, bob) = (Caller.user("ada"), Caller.user("bob"))
        for id in 1...4 { _ = pool.arrived(ticket(UInt64(id)), of: ada, now: start) }
        _ = pool.arrived(ticket(5), of: bob, now: start)
        #expect(pool.workerBecameReady(1, now: start) == [.dispatch(ticket(1), to: 1)])
        #expect(pool.ended(in: 1, now: start) == [.dispatch(ticket(5), to: 1)])
        #expect(pool.ended(in: 1, now: start) == [.dispatch(ticket(2), to: 1)])
    }

    @Test func aCallerIsAskedForOnlyWhereItsCallHasToWait() {
        var pool = pool(concurrency: 1, max: 1)
        var asked = 0
        func caller() -> Caller? {
            asked += 1
            return .user("ada")
        }
        _ = pool.arrived(ticket(1), of: caller(), now: start)
        #expect(asked == 1)
        _ = pool.workerBecameReady(1, now: start)
        _ = pool.ended(in: 1, now: start)
        _ = pool.arrived(ticket(2), of: caller(), now: start)
        #expect(asked == 1)
    }
}
