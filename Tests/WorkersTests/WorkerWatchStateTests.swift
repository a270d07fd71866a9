@testable import Workers
import NIOCore
import Testing

struct WorkerWatchStateTests {
    private typealias Sight = WorkerWatchState.Sight
    private let start = NIODeadline.uptimeNanoseconds(1_000_000_000_000)
    private let limit = 128 << 20

    private func watching() -> WorkerWatchState {
        var state = WorkerWatchState()
        state.began(7, limits: .init(memory: limit, processes: 3), now: start)
        return state
    }

    /// One that has been calm for long enough, and was last seen then.
    private func resting(at time: NIODeadline) -> WorkerWatchState {
        var state = watching()
        _ = state.saw(7, sight(10), now: start)
        _ = state.saw(7, sight(10), now: start + .milliseconds(50))
        #expect(state.saw(7, sight(10), now: time) == .fine(isIdle: true))
        return state
    }

    private func sight(_ mebibytes: Int, processes: Int = 1, isBusy: Bool = false) -> Sight {
        Sight(memory: mebibytes << 20, processes: processes, isBusy: isBusy)
    }

    @Test func aWorkerAtWorkIsLookedAtEach50Milliseconds() {
        var state = watching()
        var now = start
        for _ in 0..<100 {
            #expect(state.nextLook == now + .milliseconds(50))
            now = now + .milliseconds(50)
            #expect(state.due(now: now) == [7])
            #expect(state.saw(7, sight(10, isBusy: true), now: now) == .fine(isIdle: false))
            #expect(state.due(now: now) == [])
        }
    }

    @Test func aWorkerThatRestsIsLookedAtEach100Milliseconds() {
        var state = watching()
        var now = start
        var looks = 0
        while now < start + .seconds(60) {
            now = state.nextLook ?? .distantFuture
            _ = state.saw(7, sight(10), now: now)
            looks += 1
        }
        #expect(looks < 600 + 25)
        #expect(state.nextLook == now + .milliseconds(100))
        #expect(state.areAllIdle && state.isIdle(7))
    }

    @Test func aRestingWorkerThatGrowsIsNotResting() {
        let later = start + .seconds(2)
        var state = resting(at: later)
        state.began(8, limits: .init(memory: limit, processes: 3), now: later)
        #expect(!state.areAllIdle && state.isIdle(7))
        state.ended(8)
        #expect(state.areAllIdle)
        #expect(state.saw(7, sight(12), now: later + .milliseconds(100)) == .fine(isIdle: false))
        #expect(state.nextLook == later + .milliseconds(150))
        #expect(!state.areAllIdle && !state.isIdle(7))
    }

    @Test func whatARestingWorkerTakesAtOnceIsSeenWithin200Milliseconds() {
        let later = start + .seconds(2)
        var state = resting(at: later)
        let look = state.nextLook ?? .distantFuture
        #expect(look - later < .milliseconds(200))
        #expect(
            state.saw(7, sight(300), now: look) == .kill(.memory(used: 300 << 20, limit: limit)))
    }

    @Test func workIsFollowedAtOnce() {
        let later = start + .seconds(2)
        var state = resting(at: later)
        state.markActive(7, now: later + .milliseconds(10))
        #expect(state.nextLook == later + .milliseconds(60))
        #expect(!state.isIdle(7))
    }

    @Test func memoryBeyondTheLimitKills() {
        var state = watching()
        #expect(state.saw(7, sight(128, isBusy: true), now: start) == .fine(isIdle: false))
        #expect(
            state.saw(7, Sight(memory: limit + 4096, processes: 1, isBusy: true), now: start)
                == .kill(.memory(used: limit + 4096, limit: limit)))
        #expect("\(WorkerEnd.memory(used: limit + 4096, limit: limit))" == "memory, 129 MiB used of 128 MiB")
    }

    /// A process that has just been forked seems to have all that its parent has.
    @Test func theSumOfSeveralProcessesIsMeasuredTwiceBeforeItKills() {
        var state = watching()
        #expect(state.saw(7, sight(200, processes: 2, isBusy: true), now: start) == .measure)
        #expect(state.measured(7, memory: 100 << 20, now: start) == .fine(isIdle: false))
        let later = start + .milliseconds(50)
        #expect(state.saw(7, sight(200, processes: 2, isBusy: true), now: later) == .measure)
        #expect(state.measured(7, memory: 200 << 20, now: later) == .fine(isIdle: false))
        #expect(state.nextLook == later + .milliseconds(10))
        let again = later + .milliseconds(10)
        #expect(state.saw(7, sight(200, processes: 2, isBusy: true), now: again) == .measure)
        #expect(state.measured(7, memory: 200 << 20, now: again) == .kill(.memory(used: 200 << 20, limit: limit)))
    }

    @Test func oneMomentBeyondTheLimitIsForgotten() {
        var state = watching()
        for round in 0..<10 {
            let now = start + .milliseconds(Int64(50 * round))
            #expect(state.saw(7, sight(200, processes: 2, isBusy: true), now: now) == .measure)
            let isOver = round % 2 == 0
            #expect(state.measured(7, memory: (isOver ? 200 : 100) << 20, now: now) == .fine(isIdle: false))
        }
    }

    /// Reading the page tables of many large processes would keep the thread busy that starts and ends all workers.
    @Test func exactMeasuresTakeATenthOfTheTime() {
        var state = watching()
        state.began(8, limits: .init(memory: limit, processes: 3), now: start)
        func measure(_ id: Int32, took: TimeAmount, at now: NIODeadline) {
            #expect(state.saw(id, sight(200, processes: 2, isBusy: true), now: now) == .measure)
            #expect(state.measured(id, memory: 100 << 20, took: took, now: now) == .fine(isIdle: false))
        }
        measure(7, took: .milliseconds(2), at: start)
        #expect(state.due(now: start + .milliseconds(50)) == [7, 8])
        measure(7, took: .milliseconds(30), at: start)
        // That of both together.
        measure(8, took: .milliseconds(20), at: start)
        #expect(state.nextLook == start + .milliseconds(300))
        #expect(state.due(now: start + .milliseconds(490)) == [7])
        #expect(state.due(now: start + .milliseconds(500)) == [7, 8])
        // One whose samples are within the limit takes none of it.
        let later = start + .seconds(1)
        #expect(state.saw(7, sight(10, isBusy: true), now: later) == .fine(isIdle: false))
        measure(8, took: .milliseconds(20), at: later)
        #expect(state.due(now: later + .milliseconds(200)) == [7, 8])
        state.ended(7)
        measure(8, took: .seconds(3), at: later)
        #expect(state.nextLook == later + .seconds(5))
    }

    @Test func tooManyProcessesKill() {
        var state = watching()
        #expect(state.saw(7, sight(10, processes: 3, isBusy: true), now: start) == .fine(isIdle: false))
        #expect(
            state.saw(7, sight(10, processes: 4, isBusy: true), now: start) == .kill(.processes(count: 4, limit: 3)))
    }

    @Test func whatHasEndedIsNotLookedAt() {
        var state = watching()
        state.ended(7)
        #expect(state.nextLook == nil)
        #expect(state.due(now: .distantFuture - .seconds(1)) == [])
        #expect(state.saw(7, sight(1000), now: start) == .fine(isIdle: true))
    }
}
