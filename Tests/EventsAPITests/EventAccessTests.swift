import HostTesting
import DocumentModel
import HTTPTypes
import Testing

/// Who may use the events API.
struct EventAccessTests {
    private static let event = #"{"specversion":"1.0","id":"1","source":"/s","type":"shop.paid"}"#

    private static func headers(_ more: [String: String]) -> [String: String] {
        more.merging(["Content-Type": "application/cloudevents+json"]) { first, _ in first }
    }

    private static let programs: [(headers: [String: String], type: EventAuth.AuthType)] = [
        ([:], .unauthenticated), (["Authorization": "Bearer owner"], .serviceAccount),
        (["Authorization": "bearer ya29.c.opaque"], .serviceAccount),
    ]

    private static let others: [(headers: [String: String], status: StatusCode, message: String)] = [
        (
            ["Authorization": "Bearer eyJhbGciOiJub25lIn0.e30."], .permissionDenied,
            "users can't enqueue tasks or publish events; send \"Bearer owner\", no ID token"
        ),
        (
            ["Origin": "https://example.com", "Authorization": "Bearer owner"], .permissionDenied,
            "a page in a browser can't enqueue tasks or publish events; call a function"
        ),
        (
            ["Authorization": "Basic b3duZXI="], .unauthenticated,
            "omit the header Authorization, or send \"Bearer owner\""
        ),
    ]

    @Test(arguments: programs)
    func programsMayPublishInDevelopment(headers: [String: String], type: EventAuth.AuthType) async throws {
        let port = try EventExchanges()
        let answer = try await port.send(
            .post, "/projects/demo-shop/events", Self.event, headers: Self.headers(headers))
        #expect(answer == RESTAnswer(status: 200, body: "{}"))
        #expect(try await port.events(of: "audit").map(\.auth) == [EventAuth(type)])
        await port.shutdown()
    }

    @Test func metricsAreServedInDevelopment() async throws {
        let port = try EventExchanges()
        #expect(try await port.send(.get, "/metrics") == RESTAnswer(status: 200, body: "a_metric 1\n"))
        #expect(try await port.send(.post, "/metrics").status == 404)
        await port.shutdown()
    }

    @Test(arguments: others)
    func usersAndPagesMayNotPublish(headers: [String: String], status: StatusCode, message: String) async throws {
        let port = try EventExchanges()
        let answer = try await port.send(
            .post, "/projects/demo-shop/events", Self.event, headers: Self.headers(headers))
        #expect(answer == .error(status, message))
        #expect(try await port.events(of: "audit").isEmpty)
        await port.shutdown()
    }
}
