import Crypto
@testable import IdentityProvider
import MailTransfer
import OutboundHTTP
import StrictJSON
import Synchronization
import Testing
import TextFormats
import UserStore

@Suite struct MessageWebhookTests {
    /// Answers with a status, or with an error.
    private final class Receiver: OutboundTransport {
        let requests = Mutex<[OutboundRequest]>([])
        let answer: Result<Int, OutboundError>

        init(_ answer: Result<Int, OutboundError> = .success(200)) { self.answer = answer }

        func send(_ request: OutboundRequest) async throws(OutboundError) -> OutboundResponse {
            requests.withLock { $0.append(request) }
            return OutboundResponse(status: try answer.get())
        }
    }

    private static let key = "whsec_" + Base64.encode(Array("0123456789abcdef".utf8))

    private static func webhook(_ receiver: Receiver) throws -> MessageWebhook {
        MessageWebhook(
            address: "https://hooks.example.com/mail", key: try #require(MessageWebhook.Key(key)), project: "shop-prod",
            composer: MailComposer(
                from: MailAddress("noreply@shop.example.com", name: "Shop"), project: "shop-prod"),
            transport: receiver, now: { 1_795_659_050 })
    }

    private static func message(_ content: OutgoingMessage.Content) -> OutgoingMessage {
        OutgoingMessage(
            id: [10, 27], content, createdAt: 1_795_659_044_000, expires: 1_795_662_644)
    }

    private static let mail = OutgoingMessage.Content.mail(
        MailContent(
            .passwordReset, to: "ada@example.com", link: "https://auth.example.com/?a=1", email: "ada@example.com",
            displayName: "Ada \"x\"", language: "de"))

    @Test func aMailIsPostedWithAllThatATeamNeeds() async throws {
        let receiver = Receiver()
        #expect(try await Self.webhook(receiver).send(Self.message(Self.mail)) == .accepted)
        let request = try #require(receiver.requests.withLock { $0.first })
        #expect(request.address == "https://hooks.example.com/mail")
        let body = try #require(request.body)
        let json = try JSONValue(parsing: body)
        let expected: [String: String] = [
            "id": "0a1b", "project": "shop-prod", "type": "resetPassword", "to": "ada@example.com",
            "from": "Shop <noreply@shop.example.com>", "subject": "Reset your password for Shop",
            "link": "https://auth.example.com/?a=1", "email": "ada@example.com", "displayName": "Ada \"x\"",
            "language": "de", "createdAt": "2026-11-26T02:10:44Z", "expiresAt": "2026-11-26T03:10:44Z",
        ]
        for (name, value) in expected { #expect(json[name]?.stringValue == value, "\(name)") }
        #expect(json["text"]?.stringValue?.contains("https://auth.example.com/?a=1") == true)
        #expect(json["html"]?.stringValue?.contains("<html") == true)
        #expect(json["newEmail"] == nil)
        #expect(json["code"] == nil)
        // As Standard Webhooks has it.
        var hmac = HMAC<SHA256>(key: SymmetricKey(data: Array("0123456789abcdef".utf8)))
        hmac.update(data: Array("0a1b.1795659050.".utf8) + body)
        #expect(request.headers["webhook-id"] == "0a1b")
        #expect(request.headers["webhook-timestamp"] == "1795659050")
        #expect(request.headers["webhook-signature"] == "v1," + Base64.encode(Array(hmac.finalize())))
    }

    @Test func aTextMessageHasItsCode() async throws {
        let receiver = Receiver()
        let text = TextContent(phoneNumber: "+491511234567", code: "012345", language: "en")
        #expect(try await Self.webhook(receiver).send(Self.message(.text(text))) == .accepted)
        let json = try JSONValue(parsing: try #require(receiver.requests.withLock { $0.first?.body }))
        #expect(json["type"]?.stringValue == "verificationCode")
        #expect(json["to"]?.stringValue == "+491511234567")
        #expect(json["code"]?.stringValue == "012345")
        #expect(json["text"]?.stringValue == "012345 is your verification code for Shop.")
        #expect(json["link"] == nil)
    }

    @Test(arguments: [
        (200, "accepted"), (204, "accepted"), (400, "refused"), (404, "failed"), (413, "refused"), (410, "refused"),
        (408, "failed"),
        (429, "failed"), (503, "failed"), (500, "lost"), (502, "lost"), (302, "lost"),
    ]) func theStatusDecides(status: Int, expected: String) async throws {
        let outcome = try await Self.webhook(Receiver(.success(status))).send(Self.message(Self.mail))
        #expect(Self.name(outcome) == expected)
    }

    @Test(arguments: [
        (OutboundError.Kind.notSent, "failed"), (.lost, "lost"), (.timedOut, "lost"), (.cancelled, "lost"),
    ]) func anErrorIsRetried(kind: OutboundError.Kind, expected: String) async throws {
        let receiver = Receiver(.failure(OutboundError(kind, host: "hooks.example.com", "it broke off")))
        #expect(Self.name(try await Self.webhook(receiver).send(Self.message(Self.mail))) == expected)
    }

    @Test(arguments: ["", "secret", "whsec_", "whsec_c2hvcnQ=", "0123456789abcdef!"])
    func aWeakKeyIsNone(text: String) { #expect(MessageWebhook.Key(text) == nil) }

    private static func name(_ outcome: TransferOutcome) -> String {
        switch outcome {
        case .accepted: "accepted"
        case .refused: "refused"
        case .failed(_, let mayHaveArrived): mayHaveArrived ? "lost" : "failed"
        }
    }
}
