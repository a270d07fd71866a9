import HostTesting
@testable import IdentityProvider
import OutboundHTTP
import Synchronization
import TestSupport
import Testing
import TokenVerification

/// What issuers say of themselves, and how long it is of use.
@Suite struct IssuerDocumentTests {
    private static let issuer = "https://id.example.com"

    private final class Issuer: OutboundTransport {
        let asked = Mutex(0)
        let isDown = Mutex(false)
        /// Answers only once this has ended, if it isn't nil.
        let hang = Mutex<AsyncStream<Void>?>(nil)

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            asked.withLock { $0 += 1 }
            if let hang = hang.withLock({ $0 }) { for await _ in hang {} }
            if isDown.withLock({ $0 }) { throw OutboundError(.notSent, host: "id.example.com", "it is down") }
            let issuer = IssuerDocumentTests.issuer
            let text = #"{"issuer":"\#(issuer)","jwks_uri":"\#(issuer)/keys","token_endpoint":"\#(issuer)/token"}"#
            return OutboundResponse(status: 200, body: Array(text.utf8))
        }
    }

    @Test func aKnownDocumentIsOfUseDuringAnOutage() async throws {
        let (issuer, clock) = (Issuer(), ManualClock.atIssue())
        let documents = IssuerDocuments(transport: issuer, now: clock.wall)
        func asked(after seconds: Double) async throws -> Int {
            clock.advance(seconds: seconds)
            let document = try await documents.document(of: Self.issuer)
            #expect(document.tokenAddress == Self.issuer + "/token")
            return issuer.asked.withLock { $0 }
        }
        #expect(try await asked(after: 0) == 1)
        #expect(try await asked(after: 3599) == 1)
        issuer.isDown.withLock { $0 = true }
        #expect(try await asked(after: 1) == 2)
        // Not each sign-in waits for the issuer.
        #expect(try await asked(after: 59) == 2)
        #expect(try await asked(after: 1) == 3)
        issuer.isDown.withLock { $0 = false }
        #expect(try await asked(after: 60) == 4)
        #expect(try await asked(after: 3599) == 4)
    }

    /// An issuer that doesn't answer has 20 s.
    @Test(.endsHangs) func othersSignInWhileAnIssuerIsAskedAgain() async throws {
        let (issuer, clock) = (Issuer(), ManualClock.atIssue())
        let documents = IssuerDocuments(transport: issuer, now: clock.wall)
        _ = try await documents.document(of: Self.issuer)
        let (hang, end) = AsyncStream.makeStream(of: Void.self)
        issuer.hang.withLock { $0 = hang }
        clock.advance(seconds: 3600)
        let asking = Task { try await documents.document(of: Self.issuer) }
        while issuer.asked.withLock({ $0 }) < 2 { await Task.yield() }
        #expect(try await documents.document(of: Self.issuer).tokenAddress == Self.issuer + "/token")
        #expect(issuer.asked.withLock { $0 } == 2)
        end.finish()
        #expect(try await asking.value.tokenAddress == Self.issuer + "/token")
    }

    @Test func anOldDocumentIsOfNoUse() async throws {
        let (issuer, clock) = (Issuer(), ManualClock.atIssue())
        let documents = IssuerDocuments(transport: issuer, now: clock.wall)
        _ = try await documents.document(of: Self.issuer)
        issuer.isDown.withLock { $0 = true }
        clock.advance(seconds: 25 * 3600 - 1)
        _ = try await documents.document(of: Self.issuer)
        clock.advance(seconds: 1)
        await #expect(throws: KeySourceError.self) { try await documents.document(of: Self.issuer) }
    }
}
