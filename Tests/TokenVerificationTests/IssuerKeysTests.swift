import HostTesting
@testable import TokenVerification
import TestSupport
import Testing

@Suite struct IssuerKeysTests {
    private let clock = ManualClock.atIssue()

    private func has(_ id: String, _ keys: IssuerKeys) async throws -> Bool { try await keys.key(id) != nil }

    @Test func aRevokedKeyIsRefusedOnceTheKeysAreRefreshed() async throws {
        let (first, second) = (try TestIssuer.shared.get().key, try TestIssuer.next.get().key)
        let source = ScriptedKeySource(first.keys, maxAge: 1000)
        let keys = IssuerKeys(source: source, now: clock.wall)
        #expect(try await has(first.keyID, keys))
        source.publish(second.keys)
        clock.advance(by: .seconds(799))
        #expect(try await has(first.keyID, keys))
        #expect(source.fetchCount == 1)
        clock.advance(by: .seconds(201))
        #expect(try await !has(first.keyID, keys))
        #expect(try await has(second.keyID, keys))
        #expect(source.fetchCount == 2)
    }

    /// No sign-in waits for a slow issuer as long as its keys aren't too old.
    @Test(.endsHangs) func knownKeysAreUsedWhileTheyAreRefreshed() async throws {
        let (first, second) = (try TestIssuer.shared.get().key, try TestIssuer.next.get().key)
        let (gate, open) = AsyncStream<Void>.makeStream()
        let source = ScriptedKeySource(first.keys, maxAge: 1000, gate: gate)
        let keys = IssuerKeys(source: source, now: clock.wall)
        open.yield()
        #expect(try await has(first.keyID, keys))
        source.publish(second.keys)
        clock.advance(by: .seconds(800))
        for _ in 0..<2 { #expect(try await has(first.keyID, keys)) }
        open.yield()
        // A key that isn't known waits for the fetch.
        #expect(try await has(second.keyID, keys))
        #expect(try await !has(first.keyID, keys))
        #expect(source.fetchCount == 2)
    }

    @Test func anEarlierFailureKeepsNoRevokedKeyInUse() async throws {
        let (first, second) = (try TestIssuer.shared.get().key, try TestIssuer.next.get().key)
        let source = ScriptedKeySource(first.keys, maxAge: 1000)
        let keys = IssuerKeys(source: source, now: clock.wall)
        #expect(try await has(first.keyID, keys))
        source.fail()
        clock.advance(by: .seconds(800))
        // The second waits for the fetch that the first one has begun, and that fails.
        #expect(try await has(first.keyID, keys))
        await #expect(throws: KeySourceError.self) { try await has("another", keys) }
        source.publish(second.keys)
        clock.advance(by: .seconds(10 * 3600))
        #expect(try await !has(first.keyID, keys))
        #expect(try await has(second.keyID, keys))
    }

    @Test func aLongOutageDelaysNoKnownKey() throws {
        let key = try TestIssuer.shared.get().key
        var state = KeyCacheState()
        var now: Int64 = 0
        func begin() -> Bool { state.begin(now: now) }
        #expect(begin())
        state.succeed(FetchedKeys(keys: key.keys, maxAge: 1000), now: now)
        now = 1000
        #expect(state.haveLapsed(now: now))
        for _ in 0..<20 {
            #expect(begin())
            state.fail(now: now)
            now += try #require(state.secondsUntilDue(now: now))
            #expect(!state.haveLapsed(now: now) && state.isFetchExpected(now: now))
        }
    }

    @Test func keysStayInUseThroughAnOutage() async throws {
        let key = try TestIssuer.shared.get().key
        let source = ScriptedKeySource(key.keys, maxAge: 1000)
        let keys = IssuerKeys(source: source, now: clock.wall)
        #expect(try await has(key.keyID, keys))
        source.fail()
        clock.advance(by: .seconds(1000 + 24 * 3600 - 1))
        #expect(try await has(key.keyID, keys))
        await #expect(throws: KeySourceError.self) { try await has("another", keys) }
        clock.advance(by: .seconds(1))
        await #expect(throws: KeySourceError.self) { try await has(key.keyID, keys) }
    }
}
