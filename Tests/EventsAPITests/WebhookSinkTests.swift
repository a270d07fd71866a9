import DocumentModel
@testable import Workers
@testable import EventDispatch
@testable import EventsAPI
import HostTesting
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import Logging
import NIOCore
import OutboundHTTP
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

struct WebhookSinkTests {
    private static let alert = Alert(
        kind: .budgetExhausted, function: "recordSale", message: "recordSale has used \"all\"",
        use: .init(kind: .invocations, used: 100, limit: 100),
        time: Timestamp(microseconds: 1_767_323_045_000_000))
    private static let body =
        #"{"project":"demo-shop","kind":"paused","function":"recordSale","budget":"invocations","used":100,"limit":100,"#
        + #""day":"2026-01-02","time":"2026-01-02T03:04:05Z","message":"recordSale has used \"all\""}"#

    /// Sends alerts whose attempts have these results, and returns the posted bodies and the pauses.
    private func send(_ results: [WebhookError?], _ alerts: Int = 1) async throws -> (
        bodies: [String], pauses: [Duration]
    ) {
        let left = Mutex(results)
        let bodies = Mutex<[String]>([])
        let pauses = Mutex<[Duration]>([])
        let (ends, end) = AsyncStream<Void>.makeStream()
        let sink = WebhookSink(project: "demo-shop", logger: Logger(label: "test")) { body throws(WebhookError) in
            bodies.withLock { $0.append(String(decoding: body, as: UTF8.self)) }
            let (error, isLast) = left.withLock { left in
                let error = left.isEmpty ? nil : left.removeFirst()
                return (error, left.isEmpty)
            }
            if isLast { end.yield() }
            if let error { throw error }
        } sleep: { pause in
            pauses.withLock { $0.append(pause) }
        }
        for _ in 0..<alerts { sink.send(Self.alert) }
        let task = Task { try await sink.run() }
        for await _ in ends { break }
        task.cancel()
        try? await task.value
        return (bodies.withLock { $0 }, pauses.withLock { $0 })
    }

    @Test func anAcceptedAlertIsSentOnce() async throws {
        let (bodies, pauses) = try await send([nil])
        #expect(bodies == [Self.body] && pauses.isEmpty)
    }

    @Test func aTransientFailureIsRetriedAFewTimes() async throws {
        let down = WebhookError(message: "status 503", isTransient: true)
        #expect(try await send([down, down, nil]).pauses == [.seconds(1), .seconds(10)])
        let (bodies, pauses) = try await send([down, down, down, down, nil], 2)
        #expect(bodies.count == 5 && pauses == [.seconds(1), .seconds(10), .seconds(60)])
    }

    @Test func aPermanentFailureIsNotRetried() async throws {
        let refused = WebhookError(message: "status 404", isTransient: false)
        let (bodies, pauses) = try await send([refused, nil], 2)
        #expect(bodies.count == 2 && pauses.isEmpty)
    }

    private func stop(_ sink: WebhookSink, once isReady: AsyncStream<Void>) async throws {
        let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
        let group = ServiceGroup(configuration: .init(services: [.init(service: sink)], logger: logger))
        let task = Task { try await group.run() }
        for await _ in isReady { break }
        await group.triggerGracefulShutdown()
        try await task.value
    }

    /// The first one waits for its retry then, and the others wait for it.
    @Test(.endsHangs) func alertsThatAreQueuedWhenTheHostStopsAreSent() async throws {
        let log = LogLines()
        let posts = Mutex(0)
        let (pauses, pause) = AsyncStream<Void>.makeStream()
        let sink = WebhookSink(project: "demo-shop", logger: log.logger) { _ throws(WebhookError) in
            let count = posts.withLock { posts in
                posts += 1
                return posts
            }
            if count == 1 { throw WebhookError(message: "status 503", isTransient: true) }
        } sleep: { _ in
            pause.yield()
            try await Task.sleep(for: .seconds(86_400))
        }
        for _ in 1...3 { sink.send(Self.alert) }
        try await stop(sink, once: pauses)
        #expect(posts.withLock { $0 } == 4)
        #expect(log.all.isEmpty)
    }

    @Test(.endsHangs) func alertsThatCannotBeSentInTimeWhenTheHostStopsAreLogged() async throws {
        let log = LogLines()
        let (posts, post) = AsyncStream<Void>.makeStream()
        let sink = WebhookSink(project: "demo-shop", logger: log.logger) { _ throws(WebhookError) in
            post.yield()
            try? await Task.sleep(for: .seconds(86_400))
            throw WebhookError(message: "cancelled", isTransient: true)
        } sleep: { pause in
            #expect(pause == WebhookSink.grace)
        }
        for _ in 1...2 { sink.send(Self.alert) }
        try await stop(sink, once: posts)
        let reasons = ["cancelled", "the host is stopping"]
        #expect(log.all == reasons.map { "alert can't be sent alert=\(Self.alert.message) error=\($0)" })
    }

    /// Handlers that are killed last may use up a budget.
    @Test func anAlertAfterTheEndIsLogged() async throws {
        let log = LogLines()
        let sink = WebhookSink(project: "demo-shop", logger: log.logger) { _ throws(WebhookError) in }
        let task = Task { try await sink.run() }
        task.cancel()
        try? await task.value
        sink.send(Self.alert)
        #expect(log.all == ["alert can't be sent alert=\(Self.alert.message) error=the host is stopping"])
    }

    @Test(arguments: [(200, nil), (204, nil), (302, false), (404, false), (429, true), (500, true)] as [(Int, Bool?)])
    func theStatusDecidesWhetherAnAlertIsAccepted(status: Int, isTransient: Bool?) async throws {
        let received = Mutex<[String]>([])
        let router = Router()
        router.post("hook") { request, _ in
            let body = try await request.body.collect(upTo: 10_000)
            received.withLock { $0.append("\(request.headers[.contentType] ?? "") \(String(buffer: body))") }
            return Response(status: .init(code: status), headers: [.location: "/elsewhere"])
        }
        let application = Application(
            router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)))
        let error: WebhookError? = try await application.test(.live) { client in
            let port = try #require(client.port)
            let webhook = WebhookClient(
                address: "http://127.0.0.1:\(port)/hook", transport: OutboundClient(clock: ManualClock()))
            do throws(WebhookError) {
                try await webhook.post(Array("{}".utf8))
                return nil
            } catch {
                return error
            }
        }
        #expect(error?.isTransient == isTransient)
        #expect(received.withLock { $0 } == ["application/json {}"])
    }

    @Test func anUnreachableURLIsATransientFailure() async throws {
        await #expect {
            try await WebhookClient(address: "http://127.0.0.1:1/").post([])
        } throws: {
            ($0 as? WebhookError)?.isTransient == true
        }
    }
}
