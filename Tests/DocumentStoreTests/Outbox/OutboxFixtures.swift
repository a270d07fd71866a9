@testable import CommitPipeline
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Synchronization
import TestSupport
import Testing

extension DocumentTrigger {
    init(_ function: String, _ kind: ChangeEventType, _ pattern: String, isOrdered: Bool = false) throws {
        self.init(function: function, kind: kind, pattern: try DocumentPattern(pattern), isOrdered: isOrdered)
    }
}

/// What a store tells of its outbox.
final class NewsLog: Sendable {
    private let news = Mutex<[OutboxChanges]>([])

    init(_ store: DocumentStore) { store.outbox.onChanges { news in self.news.withLock { $0.append(news) } } }

    /// Since this was asked last.
    func take() -> [OutboxChanges] {
        news.withLock { news in
            defer { news = [] }
            return news
        }
    }
}

extension TestStore {
    func write(_ path: String, _ number: Int64) throws -> Write {
        Write(path: try DocumentPath(path), operation: .set(["n": .integer(number)]))
    }

    @discardableResult
    func commit(
        _ writes: [Write] = [], effects: [Effect], completing answer: [UInt8]? = nil,
        context: OperationContext = OperationContext()
    ) async throws -> CommitResult {
        try await store.commit(writes, completing: answer, effects: effects, in: context).result
    }

    func due(
        _ function: String, except excluded: Set<EventID> = [], limit: Int = 1000, maxBytes: Int = 1 << 20
    ) async throws -> [StoredDelivery] {
        try await store.outbox.dueDeliveries(
            of: function, at: clock.timestamp(), except: excluded, limit: limit, maxBytes: maxBytes
        ).deliveries
    }

    /// The documents whose events are due for a function, in the order of their delivery.
    func delivered(_ function: String) async throws -> [String] {
        try await due(function).map { stored in
            guard case .document(let path, let before, let after) = try Event(decoding: stored.event).content else {
                return "no document"
            }
            return "\(path) \(Self.number(before))>\(Self.number(after))"
        }
    }

    private static func number(_ document: Document?) -> String {
        guard let document else { return "" }
        guard case .integer(let number)? = document.fields["n"] else { return "?" }
        return "\(number)"
    }

    /// Dead-letters deliveries as they are now.
    func deadLetter(_ ids: [DeliveryID], because reason: String) async throws -> Int {
        var deliveries: [Delivery] = []
        for id in ids { if let stored = try await store.outbox.delivery(id) { deliveries.append(stored.delivery) } }
        return try await store.outbox.deadLetter(deliveries, because: reason)
    }

    /// The first delivery that is due for a function, leased.
    func take(_ function: String) async throws -> DeliveryLease {
        let first = try #require(try await due(function, limit: 1).first)
        return try #require(store.outbox.lease(first.delivery.id))
    }

    @discardableResult
    func end(
        _ lease: DeliveryLease, _ outcome: DeliveryOutcome = .succeeded, firstAttempt: Timestamp? = nil
    ) async throws -> Int {
        try await withCheckedContinuation { continuation in
            store.outbox.end(lease, outcome, firstAttempt: firstAttempt) { continuation.resume(returning: $0) }
        }.get()
    }

    func dead(_ function: String? = nil) async throws -> [Delivery] {
        try await store.outbox.deliveries(areDead: true, function: function, limit: 1000)
    }

    /// How many rows of both tables there are, but for what keeps names and records.
    func outboxRows() throws -> Int {
        try store.engine.makeReadSession().read { reader in
            let all = KeyRange.all
            return try reader.count(.events, all) + reader.count(.deliveries, KeyRange(lower: [], upper: [5]))
        }
    }

    func problems() throws -> [String] {
        var problems: [String] = []
        _ = try store.check(report: { problems.append($0) }, progress: { _ in })
        return problems
    }
}

extension Timestamp {
    func adding(seconds: Int64) -> Timestamp { Timestamp(microseconds: microseconds + seconds * 1_000_000) }
}
