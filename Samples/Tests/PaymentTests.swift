import Crypto
import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import PaymentFunctions

@Suite struct PaymentTests {
    static let completed = """
        {"id":"evt_1","type":"checkout.session.completed","data":{"object":{"client_reference_id":"o1",\
        "amount_total":1200,"currency":"jpy","payment_status":"paid","customer_email":"ada@example.com"}}}
        """

    /// The headers of a request that the service signs.
    static func signed(_ body: String, key: String = "whsec", at time: Timestamp) -> Headers {
        let code = HMAC<SHA256>.authenticationCode(
            for: Array("\(time.seconds).\(body)".utf8), using: SymmetricKey(data: Array(key.utf8)))
        let digits = code.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
        return ["Stripe-Signature": "t=\(time.seconds),v1=00ff,v1=\(digits)"]
    }

    private let tester: FunctionsTester

    init() throws { tester = try FunctionsTester(PaymentFunctions(), secrets: ["WEBHOOK_KEY": "whsec"]) }

    private func send(_ body: String, _ headers: Headers) async throws -> TestResponse {
        try await tester.request("paymentWebhook", method: "POST", headers: headers, body: Array(body.utf8))
    }

    @Test func aPaymentCountsOnce() async throws {
        let order = tester.firestore.document("orders/o1")
        try await order.setData(["total": 1200, "currency": "jpy"])
        let first = try await send(Self.completed, Self.signed(Self.completed, at: tester.now))
        #expect(first.status == 200)
        #expect(first.text == #"{"id":"evt_1","new":true}"#)
        #expect(try await order.getDocument().state?.stringValue == "paid")
        try await order.updateData(["state": "shipped"])

        let second = try await send(Self.completed, Self.signed(Self.completed, at: tester.now))
        #expect(second.text == #"{"id":"evt_1","new":false}"#)
        #expect(try await order.getDocument().state?.stringValue == "shipped")
    }

    @Test(arguments: ["", "t=1", "t=x,v1=ff", "v1=ff", "t=1,v1=f", "t=-9223372036854775808,v1=ff"])
    func aMalformedSignatureIsRefused(header: String) async throws {
        #expect(try await send(Self.completed, ["Stripe-Signature": header]).status == 401)
    }

    @Test func aForgedOrOldRequestIsRefused() async throws {
        #expect(try await send(Self.completed, [:]).status == 401)
        #expect(try await send(Self.completed, Self.signed(Self.completed, key: "other", at: tester.now)).status == 401)
        #expect(try await send(Self.completed + " ", Self.signed(Self.completed, at: tester.now)).status == 401)
        let old = Self.signed(Self.completed, at: tester.now - .seconds(301))
        #expect(try await send(Self.completed, old).status == 401)
        #expect(try await tester.firestore.collection("paymentEvents").getDocuments().isEmpty)
    }

    @Test func whatWasPaidIsWhatTheOrderCosts() async throws {
        let order = tester.firestore.document("orders/o1")
        #expect(try await send(Self.completed, Self.signed(Self.completed, at: tester.now)).status == 400)
        try await order.setData(["total": 1300, "currency": "jpy"])
        #expect(try await send(Self.completed, Self.signed(Self.completed, at: tester.now)).status == 400)
        try await order.setData(["total": 1200, "currency": "jpy"])
        let unpaid = Self.completed.replacing(#""paid""#, with: #""unpaid""#)
        #expect(try await send(unpaid, Self.signed(unpaid, at: tester.now)).status == 204)
        #expect(try await order.getDocument().state == nil)
    }

    /// A method of payment whose money arrives later, an order that costs nothing, another currency, a second payment.
    @Test func eachWayOfPayingCounts() async throws {
        let order = tester.firestore.document("orders/o1")
        let late = Self.completed.replacing("session.completed", with: "session.async_payment_succeeded")
        try await order.setData(["total": 1200, "currency": "usd"])
        #expect(try await send(late, Self.signed(late, at: tester.now)).status == 400)
        try await order.setData(["total": 1200, "currency": "jpy"])
        #expect(try await send(late, Self.signed(late, at: tester.now)).text == #"{"id":"evt_1","new":true}"#)
        let again = late.replacing("evt_1", with: "evt_2")
        #expect(try await send(again, Self.signed(again, at: tester.now)).text == #"{"id":"evt_2","new":false}"#)
        let free = Self.completed.replacing("evt_1", with: "evt_3").replacing("1200", with: "0")
            .replacing(#""paid""#, with: #""no_payment_required""#)
        try await order.setData(["total": 0, "currency": "jpy"])
        #expect(try await send(free, Self.signed(free, at: tester.now)).text == #"{"id":"evt_3","new":true}"#)
        #expect(try await tester.firestore.collection("mail").getDocuments().map(\.documentID) == ["evt_1", "evt_3"])
    }

    @Test func otherEventsAreIgnored() async throws {
        let body =
            #"{"id":"evt_2","type":"invoice.paid","data":{"object":{"id":"in_1","total":1}}}"#
        #expect(try await send(body, Self.signed(body, at: tester.now)).status == 204)
        #expect(try await tester.request("paymentWebhook").status == 405)
    }
}
