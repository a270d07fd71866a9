import FunctionsHTTPClient
import FunctionsRuntime
import FunctionsTesting
import MailModels
import Synchronization
import Testing

@testable import MailFunctions
@testable import PaymentFunctions

@Suite struct MailTests {
    private let tester: FunctionsTester

    init() throws {
        tester = try FunctionsTester(
            MailFunctions(), params: ["MAIL_URL": "https://mail.example/send"], secrets: ["MAIL_KEY": "key"])
    }

    private var document: DocumentReference { tester.firestore.document("mail/m1") }

    @Test func aWrittenMailIsSentOnce() async throws {
        let requests = Mutex<[FetchRequest]>([])
        try await document.setData(from: Mail(to: "ada@example.com", subject: "Hi", text: "Hello"))
        try await withFetch { request in
            requests.withLock { $0.append(request) }
            return try .json(["id": "p7"])
        } run: {
            try await tester.deliverAll()
            // Such as a task that the host repeats because it died before it saw its end.
            try await tester.dispatch("sendMail", "m1")
        }
        let sent = requests.withLock { $0 }
        #expect(sent.count == 1)
        #expect(sent[0].url == "https://mail.example/send")
        #expect(sent[0].headers["Idempotency-Key"] == "m1")
        #expect(sent[0].headers["Authorization"] == "Bearer key")
        #expect(try sent[0].json(as: [String: String].self)["to"] == "ada@example.com")
        #expect(try await document.getDocument(as: Mail.self).data.delivery?.id == "p7")
    }

    @Test func aProviderThatIsDownIsAskedLater() async throws {
        let attempts = Atomic(0)
        try await document.setData(from: Mail(to: "ada@example.com", subject: "Hi", text: "Hello"))
        try await withFetch { _ in
            guard attempts.add(1, ordering: .relaxed).oldValue >= 2 else { return .text("down", status: 503) }
            return try .json(["id": "p7"])
        } run: {
            try await tester.deliverAll(toleratingFailures: true)
            try await tester.advance(by: .minutes(1), toleratingFailures: true)
        }
        #expect(attempts.load(ordering: .relaxed) == 3)
        #expect(try await document.getDocument(as: Mail.self).data.delivery != nil)
    }

    @Test func aRefusedMailIsADeadLetter() async throws {
        try await document.setData(from: Mail(to: "nowhere", subject: "Hi", text: "Hello"))
        try await withFetch { _ in
            .text("no such address", status: 422)
        } run: {
            _ = try await tester.deliverAll(toleratingFailures: true)
        }
        let dead = try await tester.deadLetters()
        #expect(dead.count == 1)
        #expect("\(dead)".contains("no such address"))
    }
}

/// Two bundles that share a model: one writes what the other sends.
@Suite struct PaymentAndMailTests {
    @Test func aPaymentIsConfirmedByMail() async throws {
        let tester = try FunctionsTester(
            PaymentFunctions(), MailFunctions(), params: ["MAIL_URL": "https://mail.example/send"],
            secrets: ["WEBHOOK_KEY": "whsec", "MAIL_KEY": "key"])
        let body = PaymentTests.completed
        try await tester.firestore.document("orders/o1").setData(["total": 1200, "currency": "jpy"])
        let answer = try await tester.request(
            "paymentWebhook", method: "POST", headers: PaymentTests.signed(body, at: tester.now), body: Array(body.utf8)
        )
        #expect(answer.status == 200)
        let recipients = Mutex<[String]>([])
        try await withFetch { request in
            let to = try request.json(as: [String: String].self)["to"] ?? ""
            recipients.withLock { $0.append(to) }
            return try .json(["id": "p7"])
        } run: {
            try await tester.deliverAll()
        }
        #expect(recipients.withLock { $0 } == ["ada@example.com"])
    }
}
