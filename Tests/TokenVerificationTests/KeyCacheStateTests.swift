import HostTesting
@testable import TokenVerification
import Testing

@Suite struct KeyCacheStateTests {
    private let now = TestIssuer.start

    private func fetched(maxAge: Int64 = 1000) throws -> FetchedKeys {
        FetchedKeys(keys: try TestIssuer.shared.get().key.keys, maxAge: maxAge)
    }

    /// Holds the state by reference, because an expectation can't mutate a value.
    private final class Box {
        private var state = KeyCacheState()

        func lookUp(_ keyID: String, now: Int64) -> KeyLookup { state.lookUp(keyID, now: now) }
        func begin(now: Int64) -> Bool { state.begin(now: now) }
        func succeed(_ fetched: FetchedKeys, now: Int64) { state.succeed(fetched, now: now) }
        func fail(now: Int64) { state.fail(now: now) }
        func stop() { state.stop() }
        func isFetchExpected(now: Int64) -> Bool { state.isFetchExpected(now: now) }
        func secondsUntilDue(now: Int64) -> Int64? { state.secondsUntilDue(now: now) }
    }

    private func filled(maxAge: Int64 = 1000) throws -> Box {
        let state = Box()
        #expect(state.begin(now: now))
        state.succeed(try fetched(maxAge: maxAge), now: now)
        return state
    }

    private func isKnown(_ state: Box, at time: Int64) throws -> Bool {
        guard case .key = state.lookUp(try TestIssuer.shared.get().key.keyID, now: time) else { return false }
        return true
    }

    @Test func firstFetchIsDueAtOnceAndSingle() throws {
        let state = Box()
        guard case .fetching = state.lookUp("k", now: now) else {
            Issue.record("a fetch should be expected")
            return
        }
        #expect(state.secondsUntilDue(now: now) == 0)
        #expect(state.begin(now: now))
        #expect(!state.begin(now: now))
        #expect(state.secondsUntilDue(now: now) == nil)
    }

    @Test func keysAreRefreshedBeforeTheyLapse() throws {
        let state = try filled(maxAge: 1000)
        #expect(state.secondsUntilDue(now: now) == 800)
        #expect(!state.begin(now: now + 799))
        #expect(state.begin(now: now + 800))
        #expect(try isKnown(state, at: now + 800))
    }

    @Test(arguments: [(Int64(0), Int64(48)), (-5, 48), (10_000_000, 69_120)])
    func requestedAgeIsBounded(_ maxAge: Int64, _ due: Int64) throws {
        #expect(try filled(maxAge: maxAge).secondsUntilDue(now: now) == due)
    }

    @Test func keysStayInUseThroughAnOutageForADayAndNoLonger() throws {
        let state = try filled(maxAge: 1000)
        var time = now
        let bound = now + 1000 + 24 * 3600
        while time < bound {
            #expect(try isKnown(state, at: time))
            time += try #require(state.secondsUntilDue(now: time))
            #expect(state.begin(now: time))
            state.fail(now: time)
        }
        #expect(try !isKnown(state, at: bound))
        guard case .unavailable = state.lookUp("k", now: time) else {
            Issue.record("an outage is not the caller's fault")
            return
        }
        time += try #require(state.secondsUntilDue(now: time))
        #expect(state.begin(now: time))
        state.succeed(try fetched(), now: time)
        #expect(try isKnown(state, at: time))
    }

    @Test func failuresAreRetriedAtGrowingIntervals() {
        let state = Box()
        var time = now
        var waits: [Int64] = []
        for _ in 0..<12 {
            #expect(state.begin(now: time))
            state.fail(now: time)
            let wait = state.secondsUntilDue(now: time) ?? -1
            waits.append(wait)
            time += wait
        }
        #expect(waits == [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300])
    }

    @Test func floodOfUnknownKeysFetchesEveryThirtySeconds() throws {
        let state = try filled(maxAge: 24 * 3600)
        var fetches = 0
        for second in Int64(0)..<600 {
            for attempt in 0..<20 {
                if case .fetching = state.lookUp("made up \(second) \(attempt)", now: now + second),
                    state.begin(now: now + second)
                {
                    fetches += 1
                    state.succeed(try fetched(maxAge: 24 * 3600), now: now + second)
                }
            }
        }
        #expect(fetches == 19)
    }

    @Test func aFetchThatSucceedsEndsTheOutage() throws {
        let state = try filled()
        var time = now + 800
        for _ in 0..<3 {
            #expect(state.begin(now: time))
            state.fail(now: time)
            time += state.secondsUntilDue(now: time) ?? 0
        }
        #expect(state.begin(now: time))
        state.succeed(try fetched(maxAge: 1000), now: time)
        // An unknown key is unknown again, and may bring the next fetch forward.
        guard case .unknown = state.lookUp("new", now: time) else {
            Issue.record("the issuer has just said which keys it has")
            return
        }
        guard case .fetching = state.lookUp("new", now: time + 30) else {
            Issue.record("the key may have come since")
            return
        }
        #expect(state.begin(now: time + 30))
        state.fail(now: time + 30)
        #expect(state.secondsUntilDue(now: time + 30) == 1)
    }

    @Test func unknownKeysDontHastenRetriesAfterAFailure() throws {
        let state = try filled()
        #expect(state.begin(now: now + 800))
        state.fail(now: now + 800)
        guard case .unavailable = state.lookUp("new", now: now + 800) else {
            Issue.record("it may be a new key, so it is unknown for now")
            return
        }
        #expect(!state.begin(now: now + 800))
    }

    /// A clock that was ahead would otherwise hide the issuer's new keys until it is there again.
    @Test func clockThatIsSetBackDelaysNoFetch() throws {
        let state = try filled()
        let time = now - 30 * 86_400
        guard case .fetching = state.lookUp("new", now: time) else {
            Issue.record("the key may have come since")
            return
        }
        #expect(state.isFetchExpected(now: time))
        #expect(state.secondsUntilDue(now: time) == 0)
        #expect(state.begin(now: time))
        state.fail(now: time)
        #expect(state.secondsUntilDue(now: time) == 1)
        // As long as if they had been fetched now, with the highest age.
        #expect(try isKnown(state, at: time + 2 * 86_400 - 1))
        #expect(try !isKnown(state, at: time + 2 * 86_400))
    }

    @Test func stoppedCacheExpectsNothing() throws {
        let state = try filled()
        state.stop()
        #expect(try isKnown(state, at: now))
        guard case .unavailable = state.lookUp("k", now: now + 999) else {
            Issue.record("no fetch should be expected after the stop")
            return
        }
        #expect(!state.isFetchExpected(now: now + 999))
    }
}
