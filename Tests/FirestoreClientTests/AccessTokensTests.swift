@testable import TokenVerification
@testable import FirestoreClient
import Synchronization
import Testing

struct AccessTokensTests {
    private final class TestTime: Sendable {
        private let seconds = Mutex<Int64>(1000)
        var now: WallClock { { self.seconds.withLock { $0 } } }
        func advance(_ by: Int64) { seconds.withLock { $0 += by } }
    }

    private func tokens(_ script: ScriptedService, _ time: TestTime) -> AccessTokens {
        AccessTokens(host: "metadata.test", transport: script, now: time.now)
    }

    @Test func aTokenIsKeptUntilShortlyBeforeItExpires() async throws {
        let script = ScriptedService([.token("one", lifetime: 3600), .token("two", lifetime: 3600)])
        let time = TestTime()
        let tokens = tokens(script, time)
        #expect(try await tokens.token() == "one")
        time.advance(3600 - 226)
        #expect(try await tokens.token() == "one")
        time.advance(1)
        #expect(try await tokens.token() == "two")
        #expect(script.isDone)
        #expect(script.seen.allSatisfy { $0.headers == ["Metadata-Flavor": "Google"] })
        #expect(script.seen.allSatisfy { $0.address.hasPrefix("http://metadata.test/computeMetadata/v1/") })
    }

    @Test func aTokenNearItsEndIsUsedForHalfOfWhatIsLeft() async throws {
        let script = ScriptedService([.token("one", lifetime: 100), .token("two", lifetime: 3600)])
        let time = TestTime()
        let tokens = tokens(script, time)
        #expect(try await tokens.token() == "one")
        time.advance(49)
        #expect(try await tokens.token() == "one")
        time.advance(1)
        #expect(try await tokens.token() == "two")
    }

    @Test func howeverManyAskOneTokenIsFetched() async throws {
        let (gate, open) = AsyncStream<Void>.makeStream()
        let script = ScriptedService([.token("one", lifetime: 3600)], gate: gate)
        let tokens = tokens(script, TestTime())
        try await withThrowingTaskGroup(of: String.self) { group in
            for _ in 0..<50 { group.addTask { try await tokens.token() } }
            open.finish()
            for try await token in group { #expect(token == "one") }
        }
        #expect(script.isDone)
    }

    @Test func aRefusedTokenIsReplacedAndAFailureIsTriedAgain() async throws {
        let script = ScriptedService([
            .token("one", lifetime: 3600), .token("", lifetime: 0, status: 503), .token("two", lifetime: 3600),
        ])
        let tokens = tokens(script, TestTime())
        #expect(try await tokens.token() == "one")
        await #expect(
            throws: ServiceFailure(kind: .notSent, message: "the metadata server answers with status 503")
        ) { try await tokens.token(insteadOf: "one") }
        #expect(try await tokens.token(insteadOf: "one") == "two")
        #expect(try await tokens.token(insteadOf: "one") == "two")
        #expect(script.isDone)
    }

    @Test(arguments: ["", "[]", "{}", #"{"access_token":7,"expires_in":1}"#, #"{"access_token":"a"}"#])
    func anAnswerThatIsNoTokenIsRefused(_ answer: String) async throws {
        let script = ScriptedService([
            .init(address: "/token", body: nil, answer: .success(ServiceAnswer(status: 200, body: Array(answer.utf8))))
        ])
        await #expect(
            throws: ServiceFailure(kind: .notSent, message: "the metadata server's answer is no token")
        ) { try await tokens(script, TestTime()).token() }
    }
}
