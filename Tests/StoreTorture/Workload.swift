package import DocumentModel
package import DocumentStore
package import Synchronization
import TestSupport

/// Many clients of one store. Each commit records what it read and wrote.
package final class Workload: Sendable {
    private static let maxAttempts = 30

    private let store: DocumentStore
    /// What the names of this run's records start with.
    private let name: String
    private let seed: UInt64
    /// The newest commit that was acknowledged.
    private let newest = Mutex(Timestamp(microseconds: 0))
    /// How many commits the rules refused, or a conflict.
    package let refusals = Atomic(0)
    /// Commits that the rules have allowed.
    package let allowed = Atomic(0)
    private let acknowledged: @Sendable (DocumentPath, Timestamp) -> Void

    /// - Parameter acknowledged: receives each commit that was answered, by the name of its record.
    package init(
        store: DocumentStore, name: String, seed: UInt64,
        acknowledged: @escaping @Sendable (DocumentPath, Timestamp) -> Void
    ) {
        self.store = store
        self.name = name
        self.seed = seed
        self.acknowledged = acknowledged
    }

    /// Writes the first documents, unless they exist.
    package func prepare() async throws {
        var number = 0
        var attempt = WorkloadAttempt(
            store: store, context: OperationContext(), transaction: nil, isReadOnly: false,
            record: HistoryRecord(after: after))
        guard try await attempt.get(Bookings.path("accounts/a0")) == nil else { return }
        attempt.record.reads = []
        try await commit(Bookings.firstWrites, &attempt, client: 0, &number)
    }

    /// Works with some clients until it is over, or the store answers with what isn't a client's to meet.
    package func run(clients: Int, isOver: @escaping @Sendable () -> Bool) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for client in 1...clients {
                group.addTask {
                    var random = SeededGenerator(seed: self.seed &* 1000 &+ UInt64(client))
                    var number = 0
                    while !isOver() { try await self.step(client, &number, &random) }
                }
            }
            try await group.waitForAll()
        }
    }

    private func recordID(_ client: Int, _ number: Int) -> String { "\(name)-\(client)-\(number)" }

    private var after: Timestamp { newest.withLock { $0 } }

    private func step(_ client: Int, _ number: inout Int, _ random: inout SeededGenerator) async throws {
        switch Int.random(in: 0..<24, using: &random) {
        case 0: try await blind(client, &number, &random)
        case 1, 2: try await readOnly(client, &number, &random)
        case 3: try await crash(client, &random)
        case 4: try await blindlyTurn(client, &number)
        case 5, 6, 7: try await underRules(client, &number, &random)
        default: try await transaction(random.pick(WorkloadKind.allCases), client, &number, &random)
        }
    }

    /// Reads and writes in a transaction, again and again where others come first.
    private func transaction(
        _ kind: WorkloadKind, _ client: Int, _ number: inout Int, _ random: inout SeededGenerator
    ) async throws {
        var retrying: TransactionID?
        for _ in 0..<Self.maxAttempts {
            let context = OperationContext(owner: UInt64(client))
            let start = after
            let answer = try await store.begin(.readWrite(retrying: retrying), in: context)
            guard case .began(let id, let prefetched) = answer else { throw WorkloadFailure(answer) }
            var attempt = WorkloadAttempt(
                store: store, context: context, transaction: id, isReadOnly: false,
                record: HistoryRecord(after: start))
            attempt.note(prefetched)
            do throws(DocumentError) {
                let writes = try await kind.writes(&attempt, &random)
                guard !writes.isEmpty, !random.once(in: 30) else {
                    _ = try? await store.rollback(id, in: context)
                    return
                }
                try await commit(writes, &attempt, client: client, &number)
                return
            } catch {
                guard error.code == .aborted else { throw WorkloadFailure(error) }
                retrying = id
            }
        }
    }

    /// Transforms without a transaction.
    private func blind(_ client: Int, _ number: inout Int, _ random: inout SeededGenerator) async throws {
        var attempt = WorkloadAttempt(
            store: store, context: OperationContext(), transaction: nil, isReadOnly: false,
            record: HistoryRecord(after: after))
        let path = Bookings.path("counters/c\(Int.random(in: 0..<Bookings.counters, using: &random))")
        let write = Write(
            path: path, operation: .update([:], mask: []),
            transforms: [
                FieldTransform(Bookings.field("n"), .increment(.integer(1))),
                FieldTransform(Bookings.field("at"), .serverTimestamp),
                FieldTransform(Bookings.field("by"), .arrayUnion([.integer(Int64(client))])),
            ])
        try await commit([write], &attempt, client: client, &number)
    }

    /// Turns the gate of the clients under rules, in a transaction of its own.
    private func blindlyTurn(_ client: Int, _ number: inout Int) async throws {
        let context = OperationContext(owner: UInt64(client))
        let start = after
        guard case .began(let id, _) = try await store.begin(in: context) else { return }
        var attempt = WorkloadAttempt(
            store: store, context: context, transaction: id, isReadOnly: false, record: HistoryRecord(after: start))
        do throws(DocumentError) {
            try await commit(Gates.turn(try await attempt.get(Gates.gate)), &attempt, client: client, &number)
        } catch {
            guard error.code == .aborted else { throw WorkloadFailure(error) }
        }
    }

    /// Writes under rules, in a transaction or without. The rules refuse what comes too late.
    private func underRules(_ client: Int, _ number: inout Int, _ random: inout SeededGenerator) async throws {
        let context = Gates.context(client)
        let start = after
        var transaction: TransactionID?
        if random.once(in: 3), case .began(let id, _) = try await store.begin(in: context) { transaction = id }
        var attempt = WorkloadAttempt(
            store: store, context: context, transaction: transaction, isReadOnly: false,
            record: HistoryRecord(after: start))
        do throws(DocumentError) {
            let gate = try await attempt.get(Gates.gate)
            // Without a transaction, what it has read may be old by then.
            if transaction == nil { attempt.record.reads = [] }
            let writes = Gates.writes(gate, record: recordID(client, number + 1), &random)
            try await commit(writes, &attempt, client: client, &number)
            allowed.add(1, ordering: .relaxed)
        } catch {
            guard error.code == .aborted || error.code == .permissionDenied else { throw WorkloadFailure(error) }
            refusals.add(1, ordering: .relaxed)
        }
    }

    /// Several reads of one state, which a commit of their own records.
    private func readOnly(_ client: Int, _ number: inout Int, _ random: inout SeededGenerator) async throws {
        let context = OperationContext(owner: UInt64(client))
        let start = after
        let answer = try await store.begin(.readOnly(at: nil), in: context)
        guard case .began(let id, _) = answer else { throw WorkloadFailure(answer) }
        var attempt = WorkloadAttempt(
            store: store, context: context, transaction: id, isReadOnly: true, record: HistoryRecord(after: start))
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            do { _ = try await random.pick(WorkloadKind.allCases).writes(&attempt, &random) } catch {
                // So much has happened since its first read that the store doesn't know it any more.
                guard error.code == .aborted else { throw WorkloadFailure(error) }
                return
            }
        }
        _ = try? await store.commit([], transaction: id, in: context)
        var telling = WorkloadAttempt(
            store: store, context: OperationContext(), transaction: nil, isReadOnly: false, record: attempt.record)
        try await commit([], &telling, client: client, &number)
    }

    /// A client that leaves in the middle of its work, and whose hold on everything must end with it.
    private func crash(_ client: Int, _ random: inout SeededGenerator) async throws {
        let context = OperationContext(owner: UInt64(client) + 1_000_000)
        let answer = try await store.begin(in: context)
        guard case .began(let id, _) = answer else { throw WorkloadFailure(answer) }
        var attempt = WorkloadAttempt(
            store: store, context: context, transaction: id, isReadOnly: false, record: HistoryRecord(after: after))
        _ = try? await random.pick(WorkloadKind.allCases).writes(&attempt, &random)
        store.release(owner: UInt64(client) + 1_000_000)
    }

    private func commit(
        _ writes: [Write], _ attempt: inout WorkloadAttempt, client: Int, _ number: inout Int
    ) async throws(DocumentError) {
        attempt.record.writes = writes
        number += 1
        let path = Bookings.path("\(HistoryRecord.collection)/\(recordID(client, number))")
        var record = Write(path: path, operation: .set(attempt.record.fields), precondition: .exists(false))
        if attempt.context.policy != nil {
            record.transforms = [FieldTransform(HistoryRecord.requestTime, .serverTimestamp)]
        }
        let result = try await store.commit(
            writes + [record], transaction: attempt.transaction, in: attempt.context
        ).result
        newest.withLock { $0 = max($0, result.commitTime) }
        acknowledged(path, result.commitTime)
    }
}

/// An answer that no client should get.
package struct WorkloadFailure: Error, CustomStringConvertible {
    package let description: String

    init(_ answer: some Sendable) { description = "the store answered \(answer)" }
}
