@testable import TokenVerification
@testable import FirestoreClient
import DocumentModel
import OutboundHTTP
import TestSupport
import Testing

struct AccessTokensTests {
    private func tokens(_ script: ScriptedService, _ clock: ManualClock) -> AccessTokens {
        AccessTokens(host: "metadata.test", transport: script, now: { clock.timestamp().seconds })
    }

    /// Returns once the token that is being fetched is used.
    private func use(_ text: String, of tokens: AccessTokens) async throws {
        while try await tokens.token() != text { await Task.yield() }
    }

    @Test(.endsHangs) func aTokenIsCachedUntilShortlyBeforeItExpires() async throws {
        let script = ScriptedService([.token("one", lifetime: 3600), .token("two", lifetime: 3600)])
        let clock = ManualClock()
        let tokens = tokens(script, clock)
        #expect(try await tokens.token() == "one")
        clock.advance(by: .seconds(3600 - 226))
        #expect(try await tokens.token() == "one")
        #expect(script.seen.count == 1)
        clock.advance(by: .seconds(1))
        #expect(try await tokens.token() == "one")
        try await use("two", of: tokens)
        #expect(script.isDone)
        #expect(script.seen.allSatisfy { $0.headers == ["Metadata-Flavor": "Google"] })
        #expect(script.seen.allSatisfy { $0.address.hasPrefix("http://metadata.test/computeMetadata/v1/") })
    }

    @Test(.endsHangs) func aTokenNearItsExpiryIsUsedForHalfOfItsRemainingLifetime() async throws {
        let script = ScriptedService([.token("one", lifetime: 100), .token("two", lifetime: 3600)])
        let clock = ManualClock()
        let tokens = tokens(script, clock)
        #expect(try await tokens.token() == "one")
        clock.advance(by: .seconds(49))
        #expect(try await tokens.token() == "one")
        #expect(script.seen.count == 1)
        clock.advance(by: .seconds(1))
        #expect(try await tokens.token() == "one")
        try await use("two", of: tokens)
    }

    @Test(.endsHangs) func aTokenThatHasNotExpiredIsUsedWhileTheMetadataServerDoesNotAnswer() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        var second = ScriptedService.Step.token("two", lifetime: 3600)
        second.gate = gate
        let script = ScriptedService([.token("one", lifetime: 3600), second])
        let clock = ManualClock()
        let tokens = tokens(script, clock)
        #expect(try await tokens.token() == "one")
        clock.advance(by: .seconds(3599))
        for _ in 0..<3 { #expect(try await tokens.token() == "one") }
        clock.advance(by: .seconds(1))
        async let next = tokens.token()
        open.finish()
        let token = try await next
        #expect(token == "two")
        #expect(script.isDone)
    }

    @Test func aTokenIsUsedUntilItExpiresIfNoNewOneCanBeFetched() async throws {
        let failure = ScriptedService.Step.token("", lifetime: 0, status: 503)
        // By the time the token has expired, the first fetch may be over or not.
        let script = ScriptedService([.token("one", lifetime: 3600), failure, failure])
        let clock = ManualClock()
        let tokens = tokens(script, clock)
        #expect(try await tokens.token() == "one")
        clock.advance(by: .seconds(3599))
        #expect(try await tokens.token() == "one")
        clock.advance(by: .seconds(1))
        await #expect(throws: OutboundError.self) { try await tokens.token() }
    }

    @Test func concurrentCallersShareOneFetch() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let script = ScriptedService([.token("one", lifetime: 3600)], gate: gate)
        let tokens = tokens(script, ManualClock())
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await tokens.token() } }
            open.finish()
            for try await token in group { #expect(token == "one") }
        }
        #expect(script.isDone)
    }

    @Test func aRefusedTokenIsReplacedAndAFailureIsRetried() async throws {
        let script = ScriptedService([
            .token("one", lifetime: 3600), .token("", lifetime: 0, status: 503), .token("two", lifetime: 3600),
        ])
        let tokens = tokens(script, ManualClock())
        #expect(try await tokens.token() == "one")
        await #expect(
            throws: OutboundError(.notSent, host: "metadata.test", "the metadata server returned status 503")
        ) { try await tokens.token(insteadOf: "one") }
        #expect(try await tokens.token(insteadOf: "one") == "two")
        #expect(try await tokens.token(insteadOf: "one") == "two")
        #expect(script.isDone)
    }

    @Test(arguments: ["", "[]", "{}", #"{"access_token":7,"expires_in":1}"#, #"{"access_token":"a"}"#])
    func anInvalidTokenResponseIsRefused(_ answer: String) async throws {
        let script = ScriptedService([
            .init(
                address: "/token", body: nil, answer: .success(OutboundResponse(status: 200, body: Array(answer.utf8))))
        ])
        await #expect(
            throws: OutboundError(.notSent, host: "metadata.test", "the metadata server's response is not a token")
        ) { try await tokens(script, ManualClock()).token() }
    }

    /// Whatever the metadata server says of it, a token is kept for a day at most.
    @Test(arguments: [Int.min, .max, -1]) func aLifetimeOfAnyLengthIsBounded(lifetime: Int) async throws {
        let script = ScriptedService([.token("one", lifetime: lifetime), .token("two", lifetime: 3600)])
        let clock = ManualClock()
        let tokens = tokens(script, clock)
        #expect(try await tokens.token() == "one")
        if lifetime > 0 {
            #expect(try await tokens.token() == "one")
            clock.advance(by: .seconds(86_400))
        }
        #expect(try await tokens.token() == "two")
    }
}
