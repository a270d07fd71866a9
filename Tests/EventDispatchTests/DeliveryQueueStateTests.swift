import CommitPipeline
import DocumentModel
import DocumentStore
@testable import EventDispatch
import Testing

@Suite struct DeliveryQueueStateTests {
    private typealias Action = DeliveryQueueState.Action
    private typealias Page = DeliveryQueueState.Page
    private let start = Timestamp(seconds: 1_700_000_000, nanoseconds: 0)

    private func stored(_ number: Int, bytes: Int = 10) -> StoredDelivery {
        StoredDelivery(
            delivery: Delivery(
                id: DeliveryID(event: EventID(version: Int64(number), ordinal: 0), function: "f"),
                state: .pending(due: start)),
            event: [UInt8](repeating: 0, count: bytes))
    }

    private func event(_ number: Int) -> EventID { EventID(version: Int64(number), ordinal: 0) }

    /// A queue that has read that there is nothing.
    private func queue(
        concurrency: Int = 2, maxBytes: Int = 1000, buffered: Int = 4, bufferedBytes: Int = 1000, page: Int = 4,
        rate: Double? = nil
    ) -> DeliveryQueueState {
        var queue = DeliveryQueueState(
            limits: .init(
                concurrency: concurrency, maxBytes: maxBytes, buffered: buffered, bufferedBytes: bufferedBytes,
                page: page, rate: rate))
        #expect(queue.opened(now: start) == [.read(.init(except: [], limit: page, maxBytes: bufferedBytes / 2))])
        #expect(queue.read(Page(), now: start) == [])
        return queue
    }

    private func read(except: Set<Int>) -> Action {
        .read(.init(except: Set(except.map(event)), limit: 4, maxBytes: 500))
    }

    // MARK: What ended with its process, and what couldn't be started

    @Test func whatWasLostInCompanyIsWorkedOnAlone() {
        var queue = queue(concurrency: 3)
        let started = queue.arrived([stored(1), stored(2)], later: nil, now: start)
        #expect(started == [.start(stored(1)), .start(stored(2))])
        #expect(queue.lostInCompany(event(1), now: start) == [read(except: [2])])
        #expect(queue.lostInCompany(event(2), now: start) == [])
        #expect(queue.read(Page(), now: start) == [read(except: [])])
        #expect(queue.read(Page(deliveries: [stored(1), stored(2)]), now: start) == [.start(stored(1))])
        // Nothing else runs beside it, not even a delivery that isn't suspected.
        #expect(queue.arrived([stored(3)], later: nil, now: start) == [])
        #expect(queue.ended(event(1), now: start) == [.start(stored(2))])
        // A delivery that ended alone is reported like any other.
        #expect(queue.ended(event(2), now: start) == [.start(stored(3))])
        #expect(queue.arrived([stored(4)], later: nil, now: start) == [.start(stored(4))])
    }

    /// The time that was planned would not come for long.
    @Test func aClockThatIsPutBackEndsAPause() {
        var queue = queue()
        _ = queue.arrived([stored(1)], later: nil, now: start)
        _ = queue.misstarted(event(1), now: start)
        #expect(queue.read(Page(deliveries: [stored(1)]), now: start) == [.wake(at: start.after(seconds: 1))])
        let before = start.after(seconds: -86_400)
        #expect(queue.tick(for: start.after(seconds: 1), now: before) == [.start(stored(1))])
    }

    @Test func whileNothingCanBeStartedOneIsTriedAtATimeAfterLongerPauses() {
        var queue = queue(concurrency: 3)
        _ = queue.arrived([stored(1), stored(2)], later: nil, now: start)
        _ = queue.misstarted(event(1), now: start)
        _ = queue.misstarted(event(2), now: start)
        #expect(queue.isFailing)
        _ = queue.read(Page(), now: start)
        let both = Page(deliveries: [stored(1), stored(2)])
        #expect(queue.read(both, now: start) == [.wake(at: start.after(seconds: 1))])
        var time = start
        for pause in [1.0, 2, 4, 8, 16, 32, 60, 60] {
            time = time.after(seconds: pause)
            #expect(queue.tick(for: time, now: time) == [.start(stored(1))])
            // Another one's turn comes, but as late.
            let next = min(pause * 2, 60)
            #expect(queue.misstarted(event(1), now: time).last == .wake(at: time.after(seconds: next)))
            // Both are read again, so that the first one is the first again.
            queue.withdrawn([event(2)])
            _ = queue.read(both, now: time)
            #expect(queue.read(both, now: time) == [])
        }
        #expect(queue.tick(for: time.after(seconds: 60), now: time.after(seconds: 60)) == [.start(stored(1))])
        #expect(queue.started(now: time.after(seconds: 60)) == [.start(stored(2))])
        #expect(!queue.isFailing)
    }

    /// A release that can't start handlers is replaced.
    @Test func whatIsDisplacedIsStartedAtOnce() {
        var queue = queue(concurrency: 1)
        _ = queue.arrived([stored(1)], later: nil, now: start)
        _ = queue.misstarted(event(1), now: start)
        _ = queue.read(Page(deliveries: [stored(1)]), now: start)
        let later = start.after(seconds: 1)
        #expect(queue.tick(for: later, now: later) == [.start(stored(1))])
        let limits = DeliveryQueueState.Limits(
            concurrency: 1, maxBytes: 1000, buffered: 4, bufferedBytes: 1000, page: 4)
        #expect(queue.limit(to: limits, now: later) == [])
        #expect(queue.displaced(event(1), now: later) == [read(except: [])])
        #expect(queue.read(Page(deliveries: [stored(1)]), now: later) == [.start(stored(1))])
    }

    @Test func ticksAreAskedForAMinuteAheadAtMost() {
        var queue = queue()
        let due = start.after(seconds: 86_400)
        #expect(queue.arrived([], later: due, now: start) == [.wake(at: start.after(seconds: 60))])
        #expect(queue.arrived([], later: start.after(seconds: 1), now: start) == [.wake(at: start.after(seconds: 1))])
        // The clock is put back: the tick that comes asks again, by the clock as it is.
        let earlier = start.after(seconds: -3600)
        #expect(queue.tick(for: start.after(seconds: 1), now: earlier) == [.wake(at: earlier.after(seconds: 60))])
    }

    @Test func aClockThatIsPutBackLeavesNoQueueWithoutATick() {
        for seconds in [0.5, 10, 20, 60, 90] {
            var queue = queue()
            let due = start.after(seconds: 10)
            #expect(queue.arrived([], later: due, now: start) == [.wake(at: due)])
            let now = due.after(seconds: -seconds)
            #expect(queue.tick(for: due, now: now) == [.wake(at: min(due, now.after(seconds: 60)))])
        }
    }

    @Test func aTickThatWasSupersededAsksForNoOther() {
        var queue = queue()
        let (early, late) = (start.after(seconds: 1), start.after(seconds: 2))
        #expect(queue.arrived([], later: late, now: start) == [.wake(at: late)])
        #expect(queue.arrived([], later: early, now: start) == [.wake(at: early)])
        let far = late.after(seconds: 5)
        _ = queue.tick(for: early, now: early)
        #expect(queue.read(Page(nextDue: far), now: early) == [.wake(at: far)])
        #expect(queue.tick(for: late, now: late) == [])
    }

    @Test func whatRunsWellHoldsUpNoTrialOfAStart() {
        var queue = queue(concurrency: 3)
        _ = queue.arrived([stored(1), stored(2)], later: nil, now: start)
        _ = queue.misstarted(event(2), now: start)
        _ = queue.read(Page(deliveries: [stored(2), stored(3)]), now: start)
        let later = start.after(seconds: 1)
        // Beside the first, which has started long ago; but one alone.
        #expect(queue.tick(for: later, now: later) == [.start(stored(2))])
        #expect(queue.started(now: later) == [.start(stored(3))])
    }

    @Test func aSuspectThatIsOverIsForgotten() {
        var queue = queue(concurrency: 2)
        _ = queue.arrived([stored(1), stored(2)], later: nil, now: start)
        _ = queue.lostInCompany(event(1), now: start)
        _ = queue.lostInCompany(event(2), now: start)
        _ = queue.read(Page(), now: start)
        // One of them had committed before.
        #expect(queue.read(Page(deliveries: [stored(2)]), now: start) == [.start(stored(2))])
        _ = queue.ended(event(2), now: start)
        #expect(
            queue.arrived([stored(1), stored(3)], later: nil, now: start) == [.start(stored(1)), .start(stored(3))])
    }

    @Test func newsIsStartedAtOnceWithoutReading() {
        var queue = queue()
        #expect(queue.arrived([stored(1)], later: nil, now: start) == [.start(stored(1))])
        #expect(queue.isInFlight(event(1)))
        #expect(queue.ended(event(1), now: start) == [])
        #expect(queue.inFlightCount == 0)
    }

    @Test func nothingIsStartedBeforeItIsOpened() {
        var queue = DeliveryQueueState(limits: .init(concurrency: 2))
        #expect(queue.arrived([stored(1)], later: nil, now: start) == [])
        guard case .read? = queue.opened(now: start).first else { return #expect(Bool(false)) }
        #expect(queue.read(Page(deliveries: [stored(1)]), now: start) == [.start(stored(1))])
    }

    @Test func concurrencyHoldsAndTheNextStartsWhenOneEnds() {
        var queue = queue(concurrency: 2)
        #expect(
            queue.arrived([stored(1), stored(2), stored(3)], later: nil, now: start)
                == [.start(stored(1)), .start(stored(2))])
        #expect(queue.ended(event(2), now: start) == [.start(stored(3))])
    }

    @Test func whatDoesNotFitIsReadAgainInItsTurn() {
        var queue = queue(concurrency: 1)
        _ = queue.arrived((1...9).map { stored($0) }, later: nil, now: start)
        #expect(queue.bufferedCount == 3)
        // News comes behind what is in the store, however much room there is.
        #expect(queue.ended(event(1), now: start) == [.start(stored(2))])
        #expect(queue.arrived([stored(10)], later: nil, now: start) == [])
        #expect(queue.ended(event(2), now: start) == [.start(stored(3)), read(except: [3, 4])])
        #expect(queue.read(Page(deliveries: (5...8).map { stored($0) }, hasMore: true), now: start) == [])
        for number in 3...5 { #expect(queue.ended(event(number), now: start) == [.start(stored(number + 1))]) }
        #expect(queue.ended(event(6), now: start) == [.start(stored(7)), read(except: [7, 8])])
        #expect(queue.read(Page(deliveries: [stored(9), stored(10)]), now: start) == [])
        for number in 7...9 { #expect(queue.ended(event(number), now: start) == [.start(stored(number + 1))]) }
        #expect(queue.ended(event(10), now: start) == [])
        #expect(queue.arrived([stored(11)], later: nil, now: start) == [.start(stored(11))])
    }

    @Test func whatComesWhileReadingIsNeitherLostNorStartedTwice() {
        var queue = queue(concurrency: 10)
        #expect(queue.arrived([], later: start, now: start) == [read(except: [])])
        #expect(queue.arrived([stored(2), stored(3)], later: nil, now: start) == [])
        // One of the two is in what was read, as its commit came before the snapshot.
        #expect(
            queue.read(Page(deliveries: [stored(1), stored(2)]), now: start)
                == [.start(stored(1)), .start(stored(2)), .start(stored(3))])
    }

    @Test func tooMuchNewsWhileReadingIsReadAgain() {
        var queue = queue(concurrency: 10)
        _ = queue.arrived([], later: start, now: start)
        _ = queue.arrived((1...5).map { stored($0) }, later: nil, now: start)
        #expect(queue.read(Page(), now: start) == [read(except: [])])
    }

    @Test func oneThatIsStillWorkedOnIsReadOnceItEnded() {
        var queue = queue()
        _ = queue.arrived([stored(1)], later: nil, now: start)
        // Its retry was written and reported, but not yet the end of its attempt.
        #expect(queue.arrived([stored(1)], later: nil, now: start) == [read(except: [1])])
        #expect(queue.read(Page(), now: start) == [])
        var other = self.queue()
        _ = other.arrived([stored(1)], later: nil, now: start)
        #expect(other.arrived([], later: start, now: start) == [read(except: [1])])
        #expect(other.arrived([stored(1)], later: nil, now: start) == [])
        #expect(other.read(Page(), now: start) == [read(except: [1])])
        #expect(other.ended(event(1), now: start) == [])
    }

    @Test func laterIsReadWhenItIsDue() {
        var queue = queue()
        let due = start.after(seconds: 10)
        #expect(queue.arrived([], later: due, now: start) == [.wake(at: due)])
        #expect(queue.arrived([], later: due.after(seconds: 5), now: start) == [])
        #expect(queue.tick(for: start.after(seconds: 9), now: start.after(seconds: 9)) == [])
        #expect(queue.tick(for: due, now: due) == [read(except: [])])
        #expect(
            queue.read(Page(deliveries: [stored(1)], nextDue: due.after(seconds: 5)), now: due)
                == [.start(stored(1)), .wake(at: due.after(seconds: 5))])
    }

    @Test func whatBecomesDueOrIsReturnedWhileReadingIsReadAfterwards() {
        var queue = queue()
        _ = queue.arrived([stored(1)], later: nil, now: start)
        #expect(queue.arrived([], later: start, now: start) == [read(except: [1])])
        // Its retry is written while it is left out of what is read, and is due before that is there.
        _ = queue.arrived([], later: start.after(seconds: 1), now: start)
        #expect(queue.ended(event(1), due: start.after(seconds: 1), now: start) == [])
        #expect(queue.tick(for: start.after(seconds: 1), now: start.after(seconds: 1)) == [])
        #expect(queue.read(Page(), now: start.after(seconds: 1)) == [read(except: [])])

        var other = self.queue()
        _ = other.arrived([stored(1)], later: nil, now: start)
        #expect(other.arrived([], later: start, now: start) == [read(except: [1])])
        #expect(other.returned(event(1), now: start) == [])
        #expect(other.read(Page(), now: start) == [read(except: [])])
    }

    @Test func anEarlierTimeAsksForAnEarlierTick() {
        var queue = queue()
        #expect(queue.arrived([], later: start.after(seconds: 10), now: start) == [.wake(at: start.after(seconds: 10))])
        #expect(queue.arrived([], later: start.after(seconds: 3), now: start) == [.wake(at: start.after(seconds: 3))])
    }

    @Test func aReadThatFailsIsTriedAgainSoon() {
        var queue = queue()
        _ = queue.arrived([], later: start, now: start)
        #expect(queue.readFailed(now: start) == [.wake(at: start.after(seconds: 1))])
        #expect(queue.arrived([stored(1)], later: nil, now: start) == [])
        #expect(queue.tick(for: start.after(seconds: 1), now: start.after(seconds: 1)) == [read(except: [])])
    }

    @Test func oneThatIsReturnedIsReadAgainSoon() {
        var queue = queue()
        _ = queue.arrived([stored(1)], later: nil, now: start)
        #expect(queue.returned(event(1), now: start) == [.wake(at: start.after(seconds: 1))])
        #expect(queue.tick(for: start.after(seconds: 1), now: start.after(seconds: 1)) == [read(except: [])])
    }

    @Test func aClosedQueueStartsNothingAndForgetsNothing() {
        var queue = queue(concurrency: 1)
        _ = queue.arrived([stored(1), stored(2)], later: nil, now: start)
        queue.closed()
        #expect(queue.bufferedCount == 0)
        #expect(queue.ended(event(1), now: start) == [])
        #expect(queue.arrived([stored(3)], later: nil, now: start) == [])
        #expect(queue.opened(now: start) == [read(except: [])])
        #expect(queue.read(Page(deliveries: [stored(2), stored(3)]), now: start) == [.start(stored(2))])
    }

    @Test func whatCameBackIsReadAtOnceWhenItIsOpened() {
        var queue = queue()
        _ = queue.arrived([stored(1)], later: nil, now: start)
        queue.closed()
        _ = queue.returned(event(1), now: start)
        #expect(queue.opened(now: start) == [read(except: [])])
    }

    @Test func whatIsReadAcrossAPauseIsReadAgain() {
        var queue = queue()
        _ = queue.arrived([], later: start, now: start)
        queue.closed()
        #expect(queue.opened(now: start) == [])
        #expect(queue.read(Page(deliveries: [stored(1)]), now: start) == [read(except: [])])
    }

    @Test func whatIsWithdrawnIsNotStarted() {
        var queue = queue(concurrency: 1)
        _ = queue.arrived([stored(1), stored(2), stored(3)], later: nil, now: start)
        queue.withdrawn([event(2)])
        #expect(queue.ended(event(1), now: start) == [.start(stored(3))])
        _ = queue.arrived([], later: start, now: start)
        queue.withdrawn([event(4)])
        // It was read before it was withdrawn.
        #expect(queue.read(Page(deliveries: [stored(4)]), now: start) == [read(except: [3])])
    }

    /// Otherwise a queue whose tasks are deleted all the time would read the same page again and again.
    @Test func whatIsWithdrawnSpoilsNoPage() {
        var queue = queue(concurrency: 1)
        _ = queue.arrived([], later: start, now: start)
        for number in 10..<20 { queue.withdrawn([event(number)]) }
        #expect(queue.read(Page(deliveries: [stored(1), stored(2)]), now: start) == [.start(stored(1))])
        #expect(queue.ended(event(1), now: start) == [.start(stored(2))])
    }

    @Test func aStoppedQueueStartsNothingAnyMore() {
        var queue = queue(concurrency: 1)
        _ = queue.arrived([stored(1), stored(2)], later: nil, now: start)
        queue.stopped()
        #expect(queue.ended(event(1), now: start) == [])
        #expect(queue.opened(now: start) == [])
        #expect(queue.tick(for: start.after(seconds: 100), now: start.after(seconds: 100)) == [])
    }

    @Test func bytesAreBoundedAndOneAlwaysFits() {
        var queue = queue(concurrency: 10, maxBytes: 100, bufferedBytes: 150)
        #expect(queue.arrived([stored(1, bytes: 5000)], later: nil, now: start) == [.start(stored(1, bytes: 5000))])
        #expect(queue.arrived([stored(2, bytes: 90), stored(3, bytes: 90)], later: nil, now: start) == [])
        #expect(queue.bufferedCount == 1)
        #expect(queue.ended(event(1), now: start).first == .start(stored(2, bytes: 90)))
    }

    @Test func theRateHoldsStartsBack() {
        var queue = queue(concurrency: 100, buffered: 100, rate: 10)
        let all = (1...5).map { stored($0) }
        let next = start.after(seconds: 0.1)
        #expect(
            queue.arrived(all, later: nil, now: start) == [.start(stored(1)), .start(stored(2)), .wake(at: next)])
        #expect(queue.ended(event(1), now: start) == [])
        #expect(queue.tick(for: next, now: next) == [.start(stored(3)), .wake(at: next.after(seconds: 0.1))])
    }
}
