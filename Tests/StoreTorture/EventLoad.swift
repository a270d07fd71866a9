import CommitPipeline
package import DocumentModel
package import DocumentStore
import Foundation
import TestSupport

/// Orders that cause events, and functions that receive them, in a process that may be killed at any moment.
///
/// Each order is one commit: the order, the next number of its client's cart, two named tasks and an event. One of the
/// tasks is never done: the other takes it back.
package final class EventLoad: Sendable {
    /// The functions.
    package enum Function: String, CaseIterable, Sendable {
        /// Counts each order once, by a transaction.
        case tally
        /// Marks each order at least once, as what isn't transactional does.
        case mark
        /// Takes over each cart's numbers one after the other, by a transaction.
        case follow
        /// Writes each order's receipt once and takes its reminder back, by a transaction: a task.
        case mail
        /// Would remind of an order without a receipt: a task that is scheduled for later than any test takes.
        case remind
        /// Does nothing with an event that was published.
        case hear
    }

    /// Deliveries that may wait before clients do.
    private static let maxBacklog = 400

    private let store: DocumentStore
    private let name: String
    private let seed: UInt64
    private let acknowledged: @Sendable (String, Timestamp) -> Void

    /// - Parameter acknowledged: receives each order that was answered.
    package init(
        store: DocumentStore, name: String, seed: UInt64,
        acknowledged: @escaping @Sendable (String, Timestamp) -> Void
    ) throws {
        self.store = store
        self.name = name
        self.seed = seed
        self.acknowledged = acknowledged
        let (created, written) = (ChangeEventType.created, ChangeEventType.written)
        let orders = try DocumentPattern("orders/{id}")
        store.routeEvents(
            by: EventRoutes(
                events: [.init(function: Function.hear.rawValue, type: "order.paid", filters: ["level": "high"])],
                queues: [Function.mail.rawValue, Function.remind.rawValue]),
            documents: [
                .init(function: Function.tally.rawValue, kind: created, pattern: orders),
                .init(function: Function.mark.rawValue, kind: written, pattern: orders),
                .init(
                    function: Function.follow.rawValue, kind: written, pattern: try DocumentPattern("carts/{id}"),
                    isOrdered: true),
            ])
    }

    /// Orders and handles events, until it is over.
    package func run(clients: Int, isOver: @escaping @Sendable () -> Bool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 1...clients {
                group.addTask { try await self.order(client, isOver) }
                group.addTask {
                    var random = SeededGenerator(seed: self.seed &* 77 &+ UInt64(client))
                    let work = EventWork(store: self.store)
                    while !isOver() { try await work.step(&random) }
                }
            }
            try await group.waitForAll()
        }
    }

    private func order(_ client: Int, _ isOver: () -> Bool) async throws {
        var random = SeededGenerator(seed: seed &* 1000 &+ UInt64(client))
        for number in 0... where !isOver() {
            if number % 10 == 0 {
                while try await store.outbox.counts().reduce(0, { $0 + $1.pending }) > Self.maxBacklog {
                    try await Task.sleep(for: .milliseconds(3))
                }
            }
            try await order("\(name)-\(client)-\(number)", of: client, &random)
        }
    }

    private func order(_ id: String, of client: Int, _ random: inout SeededGenerator) async throws {
        let cart = Bookings.path("carts/c\(client)")
        let context = OperationContext(auth: EventAuth(.appUser, id: "u\(client)"))
        let begun = try await store.begin(in: context)
        guard case .began(let transaction, _) = begun else { throw WorkloadFailure(begun) }
        let found = try await store.get([cart], .transaction(transaction), in: context).documents
        let level = random.once(in: 2) ? "high" : "low"
        let writes = [
            Write(
                path: Bookings.path("orders/\(id)"), operation: .set(["level": .string(level)]),
                precondition: .exists(false)),
            Write(
                path: cart, operation: .set(["number": .integer(Bookings.integer(found.first ?? nil, "number") + 1)])),
        ]
        let effects: [Effect] = [
            .enqueue(TaskDraft(queue: Function.mail.rawValue, name: "receipt-\(id)", body: Array(id.utf8))),
            .enqueue(
                TaskDraft(
                    queue: Function.remind.rawValue, name: "remind-\(id)", body: Array(id.utf8),
                    scheduleTime: Timestamp(seconds: Int64(Date().timeIntervalSince1970) + 86_400, nanoseconds: 0))),
            .publish(CloudEvent(type: "order.paid", source: "/orders", subject: id, attributes: ["level": level])),
        ]
        let result = try await store.commit(writes, transaction: transaction, effects: effects, in: context).result
        acknowledged(id, result.commitTime)
    }

    /// Works on all that is left until there is nothing.
    package func drain() async throws {
        var random = SeededGenerator(seed: seed)
        let work = EventWork(store: store, mayFail: false)
        while true {
            let dead = try await store.outbox.deliveries(areDead: true, limit: 500).map(\.id)
            _ = try await store.outbox.requeue(dead)
            guard try await store.outbox.counts().contains(where: { $0.pending > 0 }) else { return }
            for _ in 0..<100 { try await work.step(&random) }
        }
    }
}
