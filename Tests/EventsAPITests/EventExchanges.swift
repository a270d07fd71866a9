import CommitPipeline
import HostTesting
import StorageEngine
import DocumentModel
import DocumentStore
@testable import EventsAPI
import HTTPTypes
import Hummingbird
import HummingbirdTesting
import NIOCore

/// The events API over its own store, in which `receipts` has a task queue and `audit` receives some events.
final class EventExchanges: Sendable {
    static let start = Timestamp(microseconds: 1_767_323_045_000_000)

    let store: DocumentStore
    let engine = MemoryEngine()
    let log = LogLines()
    private let rest: EventREST

    init(maxBodyBytes: Int = 4096, maxPageBytes: Int = 1 << 20) throws {
        store = try DocumentStore(engine: engine, now: { Self.start })
        try store.start()
        store.routeEvents(
            by: EventRoutes(
                events: [
                    .init(function: "audit", type: "shop.paid"),
                    .init(function: "audit", type: "google.cloud.pubsub.topic.v1.messagePublished"),
                ],
                queues: ["receipts"]))
        rest = EventREST(
            project: "demo-shop", store: store, queues: { ["receipts": ["us-central1", "asia-northeast1"]] },
            maxBodyBytes: maxBodyBytes, maxPageBytes: maxPageBytes, now: { Self.start }, logger: log.logger,
            metrics: { "a_metric 1\n" })
    }

    func shutdown() async { await store.shutdown() }

    func send(
        _ method: HTTPRequest.Method, _ path: String, _ body: String = "", headers: [String: String] = [:]
    ) async throws -> RESTAnswer {
        var fields = HTTPFields()
        for (name, value) in headers {
            if let name = HTTPField.Name(name) { fields.append(HTTPField(name: name, value: value)) }
        }
        return try await Application(responder: rest).test(.router) { [fields] client in
            let response = try await client.executeRequest(
                uri: path, method: method, headers: fields, body: ByteBuffer(string: body))
            return RESTAnswer(status: response.status.code, body: String(buffer: response.body))
        }
    }

    /// The events in the outbox for a function.
    func events(of function: String) async throws -> [Event] {
        var events: [Event] = []
        for delivery in try await store.outbox.deliveries(areDead: false, function: function, limit: 100) {
            guard let stored = try await store.outbox.delivery(delivery.id) else { continue }
            events.append(try Event(decoding: stored.event))
        }
        return events
    }
}

extension [Event] {
    var tasks: [TaskDraft] {
        compactMap { if case .task(let task) = $0.content { task } else { nil } }
    }

    var custom: [CloudEvent] {
        compactMap { if case .custom(let event) = $0.content { event } else { nil } }
    }
}
