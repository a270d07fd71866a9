import CommitPipeline
import DocumentModel
import DocumentStore
import Foundation
import TestSupport

/// Works on deliveries as a host does, and lets go of them in all the ways there are.
struct EventWork {
    let store: DocumentStore
    var mayFail = true

    private typealias Function = EventLoad.Function

    /// What no function may meet.
    private struct Anomaly: Error, CustomStringConvertible {
        var description: String
    }

    /// Does one thing with one delivery, or nothing if there is none.
    func step(_ random: inout SeededGenerator) async throws {
        let function = random.pick(Function.allCases)
        if mayFail, random.once(in: 10) { return try await byHand(function, &random) }
        let page = try await store.outbox.dueDeliveries(
            of: function.rawValue, at: Self.now, except: [], limit: random.once(in: 2) ? 1 : 16, maxBytes: 1 << 20)
        guard !page.deliveries.isEmpty else { return try await Task.sleep(for: .milliseconds(1)) }
        let stored = random.pick(page.deliveries)
        guard let lease = store.outbox.lease(stored.delivery.id) else { return await Task.yield() }
        let choice = mayFail ? Int.random(in: 0..<12, using: &random) : 11
        switch choice {
        case 0: store.outbox.release(lease)
        // A dead letter makes way for the next, and a cart's numbers would have a gap.
        case 1 where function != .follow: try await end(lease, .dead(DeliveryFailure("given up")))
        case 1, 2: try await end(lease, .retry(at: Self.now, DeliveryFailure("failed")))
        case 3:
            let later = Timestamp(microseconds: Self.now.microseconds + .random(in: 0...20_000, using: &random))
            try await end(lease, .retry(at: later, DeliveryFailure("failed")))
        case 4:
            // It continues after its lease was released, and nothing of that counts.
            store.outbox.revoke(lease)
            let error = try await handle(stored, function, lease)
            guard error?.code == .failedPrecondition || function == .hear else {
                throw Anomaly(description: "\(function) committed after it was given up: \(error as Any)")
            }
            try await end(lease, .retry(at: Self.now, DeliveryFailure("too slow", wasExecuted: false)))
        default:
            let error = try await handle(stored, function, lease)
            // A page may name what has ended since it was read.
            guard error == nil || error?.code == .aborted || error?.code == .failedPrecondition else {
                throw Anomaly(description: "\(function) was refused: \(error as Any)")
            }
            try await end(
                lease, error == nil ? .succeeded : .retry(at: Self.now, DeliveryFailure("lost its transaction")))
        }
    }

    private func byHand(_ function: Function, _ random: inout SeededGenerator) async throws {
        if function == .remind { return }
        let dead = try await store.outbox.deliveries(areDead: true, function: function.rawValue, limit: 20).map(\.id)
        if random.once(in: 2) { _ = try await store.outbox.requeue(dead) }
        guard function != .follow else { return }
        let pending = try await store.outbox.deliveries(areDead: false, function: function.rawValue, limit: 3)
        if random.once(in: 3) { _ = try await store.outbox.deadLetter(pending, because: "by hand") }
    }

    private func handle(
        _ stored: StoredDelivery, _ function: Function, _ lease: DeliveryLease
    ) async throws -> DocumentError? {
        let event = try Event(decoding: stored.event)
        let context = OperationContext(chain: event.chain + [function.rawValue], delivery: lease)
        switch (function, event.content) {
        case (.tally, .document(let path, nil, _?)):
            let shard = path.id.utf8.reduce(0) { $0 &+ Int($1) } % 3
            return await commit(
                [increment("marks/tally-\(path.id)"), increment("tallies/t\(shard)")], nil, [1], context)
        case (.mark, .document(let path, nil, _?)):
            return await commit([increment("marks/mark-\(path.id)")], nil, nil, context)
        case (.follow, .document(let path, _, let cart?)): return try await follow(path, cart, context)
        case (.mail, .task(let task)):
            let id = String(decoding: task.body, as: UTF8.self)
            let receipt = Write(
                path: Bookings.path("receipts/\(id)"), operation: .set([:]), precondition: .exists(false))
            return await commit(
                [receipt], nil, [], context,
                causing: [.deleteTask("remind-\(id)", queue: Function.remind.rawValue)])
        case (.hear, .custom(let event)):
            guard event.attributes == ["level": "high"] else {
                throw Anomaly(description: "\(event) came through the filter")
            }
            return nil
        default: throw Anomaly(description: "\(function) received \(event)")
        }
    }

    /// Each cart's numbers come one after the other, without a gap.
    private func follow(
        _ path: DocumentPath, _ cart: Document, _ context: OperationContext
    ) async throws -> DocumentError? {
        let copy = Bookings.path("copies/\(path.id)")
        guard case .began(let id, _) = try? await store.begin(in: context),
            let found = try? await store.get([copy], .transaction(id), in: context).documents
        else { throw Anomaly(description: "a transaction can't begin") }
        let number = Bookings.integer(cart, "number")
        let write = Write(path: copy, operation: .set(["number": .integer(number)]))
        let error = await commit([write], id, [], context)
        // Commits were in order; refusals may have been reported late.
        let before = Bookings.integer(found.first ?? nil, "number")
        guard error != nil || before == number - 1 else {
            throw Anomaly(description: "\(path) went from \(before) to \(number)")
        }
        return error
    }

    private func commit(
        _ writes: [Write], _ transaction: TransactionID?, _ answer: [UInt8]?, _ context: OperationContext,
        causing effects: [Effect] = []
    ) async -> DocumentError? {
        do throws(DocumentError) {
            _ = try await store.commit(
                writes, transaction: transaction, completing: answer, effects: effects, in: context
            ).result
            return nil
        } catch {
            return error
        }
    }

    private func end(_ lease: DeliveryLease, _ outcome: DeliveryOutcome) async throws {
        _ = try await withCheckedContinuation { continuation in
            store.outbox.end(lease, outcome) { continuation.resume(returning: $0) }
        }.get()
    }

    private func increment(_ path: String) -> Write {
        Write(
            path: Bookings.path(path), operation: .update([:], mask: []),
            transforms: [FieldTransform(Bookings.field("n"), .increment(.integer(1)))])
    }

    private static var now: Timestamp {
        Timestamp(microseconds: Int64(Date().timeIntervalSince1970 * 1_000_000))
    }
}
