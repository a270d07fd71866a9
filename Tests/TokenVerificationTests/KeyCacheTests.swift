import HostTesting
@testable import TokenVerification
import Foundation
import Logging
import ServiceLifecycle
import TestSupport
import Testing

@Suite struct KeyCacheTests {
    private func withRunning<R: Sendable>(
        _ source: ScriptedKeySource, clock: ManualClock, _ body: @Sendable (KeyCache, TokenVerifier) async throws -> R
    ) async throws -> R {
        let cache = KeyCache(
            source: source, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }),
            now: clock.wall, clock: clock)
        let verifier = TokenVerifier(
            kind: .idToken(project: TestIssuer.project), policy: .production, remoteKeys: cache, now: clock.wall)
        return try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask { try await cache.run() }
            let result = try await body(cache, verifier)
            group.cancelAll()
            return result
        }
    }

    @Test func tokenBeforeTheFirstFetchWaitsForItAndIsAccepted() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let issuer = try TestIssuer.shared.get()
        let source = ScriptedKeySource(issuer.key.keys, gate: gate)
        let token = try issuer.token()
        try await withRunning(source, clock: ManualClock.atIssue()) { _, verifier in
            #expect(verifier.verify(token) == .needsKeys)
            async let outcome = verifier.verifyAfterFetch(token)
            for await _ in source.fetches { break }
            open.finish()
            guard case .valid = await outcome else {
                Issue.record("refused")
                return
            }
            guard case .valid = verifier.verify(token) else {
                Issue.record("refused")
                return
            }
        }
        #expect(source.fetchCount == 1)
    }

    @Test func floodOfUnknownKeysCausesOneFetch() async throws {
        let issuer = try TestIssuer.shared.get()
        let source = ScriptedKeySource(issuer.key.keys)
        let clock = ManualClock.atIssue()
        let tokens = try (0..<200).map { number in
            try issuer.token(header: ["alg": "RS256", "kid": "made up \(number)"])
        }
        try await withRunning(source, clock: clock) { _, verifier in
            await clock.sleepers()
            clock.advance(by: .seconds(60))
            await withTaskGroup(of: Void.self) { group in
                for token in tokens {
                    group.addTask { #expect(await verifier.verifyAfterFetch(token) == .invalid(.unknownKey)) }
                }
            }
        }
        #expect(source.fetchCount == 2)
    }

    @Test func tokenThatCouldNotPassCausesNoFetch() async throws {
        let issuer = try TestIssuer.shared.get()
        let source = ScriptedKeySource(issuer.key.keys)
        let clock = ManualClock.atIssue()
        var claims = TestIssuer.idTokenClaims
        claims["aud"] = "another-project"
        let token = try issuer.token(header: ["alg": "RS256", "kid": "made up"], claims)
        try await withRunning(source, clock: clock) { _, verifier in
            await clock.sleepers()
            clock.advance(by: .seconds(60))
            #expect(await verifier.verifyAfterFetch(token) == .invalid(.audience))
        }
        #expect(source.fetchCount == 1)
    }

    @Test func keysAreRefreshedOnTime() async throws {
        let source = ScriptedKeySource(try TestIssuer.shared.get().key.keys, maxAge: 1000)
        let clock = ManualClock.atIssue()
        try await withRunning(source, clock: clock) { _, _ in
            var fetches = source.fetches.makeAsyncIterator()
            for _ in 0..<3 {
                await fetches.next()
                await clock.sleepers()
                clock.advance(by: .seconds(800))
            }
            await fetches.next()
        }
        #expect(source.fetchCount >= 4)
    }

    @Test func outageIsUnavailableNotUnauthenticated() async throws {
        let source = ScriptedKeySource(KeySet())
        source.fail()
        let clock = ManualClock.atIssue()
        let token = try TestIssuer.shared.get().token()
        try await withRunning(source, clock: clock) { _, verifier in
            await clock.sleepers()
            #expect(await verifier.verifyAfterFetch(token) == .unavailable)
        }
    }

    @Test func waitersAreCalledAtShutdown() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let source = ScriptedKeySource(KeySet(), gate: gate)
        let token = try TestIssuer.shared.get().token()
        let outcome = try await withRunning(source, clock: ManualClock.atIssue()) { _, verifier in
            for await _ in source.fetches { break }
            return Task { await verifier.verifyAfterFetch(token) }
        }
        #expect(await outcome.value == .unavailable)
        open.finish()
    }
}
