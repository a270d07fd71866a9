import CommitPipeline
import DocumentModel
@testable import DocumentStore
import EventDelivery
import FunctionManifest
import HostTesting
import StorageEngine
import TestSupport
@testable import Workers

/// The rows of a store in which each table has rows of each kind, made by real operations.
struct StoredRows: Sendable {
    struct Row: Hashable, Sendable {
        var table: StorageTable
        var key: [UInt8]
        var value: [UInt8]
    }

    static let functions: [FunctionManifest] = [
        .created("f", retry: EventRetryManifest()), .created("g", isOrdered: true), .test("q", .task(.init())),
        .test("c", .event(.init(eventType: "shop.sold"))), ScheduleFixtures.function("j", "every 5 minutes"),
        ScheduleFixtures.function("k", "0 3 * * *", zone: "Europe/Berlin", missedRuns: .all(max: 10)),
    ]

    static var budget: FunctionBudget {
        var budget = FunctionBudget()
        (budget.invocationsPerDay, budget.computeSecondsPerDay) = (100, 100)
        return budget
    }

    static let indexes = IndexConfiguration(
        indexes: [
            IndexDefinition(
                collectionID: "items",
                fields: [.init(FieldPath(segments: ["n"]), .ascending), .init(FieldPath(segments: ["v"]), .descending)]),
            IndexDefinition(
                collectionID: "orders", scope: .collectionGroup,
                fields: [.init(FieldPath(segments: ["n"]), .descending)]),
        ],
        exemptions: [
            FieldExemption(
                collectionID: "items", field: FieldPath(segments: ["x"]), isOrdered: false, hasElements: false)
        ])

    private(set) var rows: [Row]

    /// Fills a store, and stops it.
    init(at clock: ManualClock) async throws {
        let engine = MemoryEngine()
        let store = try DocumentStore(engine: engine, now: clock.timestamp)
        try store.start()
        do {
            try await Self.fill(store, clock)
        } catch {
            await store.shutdown()
            throw error
        }
        await store.shutdown()
        rows = try Self.rows(of: engine)
        // Where indexes are built when the store is closed.
        try engine.write {
            try IndexPass.write(
                IndexPass(
                    scope: .collections("items"), stage: .documents, indexes: [1], fields: [CollectionID("items")],
                    position: Array("items".utf8), documents: 7), to: $0)
        }
        rows += try Self.rows(of: engine).filter { !rows.contains($0) }
    }

    private static func fill(_ store: DocumentStore, _ clock: ManualClock) async throws {
        store.routeEvents(by: try FunctionRoutes(functions))
        try await store.configureIndexes(indexes)
        try await store.indexesAreDone()
        let long = String(repeating: "long ", count: 400)
        let values: [Value] = [
            .null, .boolean(true), .integer(.max), .double(.nan), .timestamp(clock.timestamp()), .string(long),
            .bytes([0, 1, 2, 255]), .geoPoint(GeoPoint(latitude: 1, longitude: -2)),
            .reference(DocumentName(database: DatabaseID(project: "p"), path: try DocumentPath("items/1"))),
            .array([.integer(1), .double(1.5), .string("a"), .map(["b": .array([.null])])]),
            .map(["a": .map(["b": .integer(3)]), "c": .null]),
            .map(["__type__": .string("__vector__"), "value": .array([.double(1), .double(2)])]),
        ]
        func write(_ path: String, _ number: Int) throws -> Write {
            Write(
                path: try DocumentPath(path),
                operation: .set([
                    "n": .integer(Int64(number)), "v": values[number % values.count], "x": .string("exempt"),
                    "l": .array([.integer(Int64(number)), .string("\u{0}\u{1}")]),
                ]))
        }
        for number in 0..<14 { _ = try await store.commit([write("items/\(number)", number)]) }
        for number in 0..<6 {
            _ = try await store.commit([write("items/\(number)/orders/o\(number)", number), write("items/1", number)])
            clock.advance(by: .seconds(1))
        }
        _ = try await store.commit([
            Write(path: DocumentPath("items/9"), operation: .delete), write("orders/top", 3),
        ])
        for name in ["used", "held"] {
            let task = TaskDraft(
                queue: "q", name: name, body: Array("{}".utf8), headers: ["a": "b"], dispatchDeadline: 20)
            _ = try await store.commit([], effects: [.enqueue(task)])
        }
        var later = TaskDraft(queue: "q", body: [1])
        later.scheduleTime = clock.timestamp().after(seconds: 3600)
        let sold = CloudEvent(type: "shop.sold", source: "/shop", id: "1")
        _ = try await store.commit([], effects: [.enqueue(later), .publish(sold)])
        let key = CompletionKey(scope: "f/ada", key: "1", fingerprint: [1, 2, 3])
        _ = try await store.commit([write("items/2", 2)], completing: [4, 5], in: OperationContext(completion: key))
        var keeper = ScheduleKeeper(
            try functions.compactMap { try ScheduledJob($0) }, store: store, logger: .silent)
        for _ in 0..<3 {
            await keeper.step(at: clock.timestamp())
            clock.advance(by: .seconds(400))
        }
        try await end(store, clock)
        var used = BudgetState(budget, now: clock.timestamp())
        _ = used.admit(now: clock.timestamp())
        try await store.outbox.keep([
            EventRecords.pause(of: "g", since: clock.timestamp()), EventRecords.budget(of: "f", used.record),
        ])
    }

    /// Some deliveries end, in each way.
    private static func end(_ store: DocumentStore, _ clock: ManualClock) async throws {
        let failure = DeliveryFailure("INTERNAL: it broke", status: 500)
        let now = clock.timestamp()
        let outcomes: [DeliveryOutcome] = [
            .succeeded, .retry(at: now.after(seconds: 60), failure), .dead(failure), .retry(at: now, failure),
            .dropped(failure), .dead(failure),
        ]
        for function in functions {
            let deliveries = try await store.outbox.deliveries(areDead: false, function: function.name, limit: 6)
            for (delivery, outcome) in zip(deliveries, outcomes) where delivery.due != nil {
                _ = try await store.finish(delivery.id, at: now, as: outcome)
            }
        }
        let dead = try await store.outbox.deliveries(areDead: true, limit: 100)
        _ = try await store.outbox.requeue(dead.prefix(1).map(\.id))
    }

    private static func rows(of engine: any StorageEngine) throws -> [Row] {
        try engine.makeReadSession().read { reader in
            var rows: [Row] = []
            for table in StorageTable.allCases {
                try reader.scan(table, .all, reverse: false) { key, value in
                    rows.append(Row(table: table, key: key, value: value))
                    return true
                }
            }
            return rows
        }
    }

    /// Puts all rows into an engine.
    func store(in engine: any StorageEngine) throws {
        try engine.write { writer in for row in rows { try writer.put(row.table, row.key, row.value) } }
    }
}

// MARK: Damage

extension StoredRows {
    /// The rows with damage to a few of them.
    func damaged(_ random: inout SeededGenerator) -> StoredRows {
        var damaged = self
        for _ in 0...Int.random(in: 0...4, using: &random) {
            // Each table as often, however many rows it has.
            let table = random.pick(StorageTable.allCases)
            let places = damaged.rows.indices.filter { damaged.rows[$0].table == table }
            guard let place = places.randomElement(using: &random) else { continue }
            damaged.damage(place, places.map { damaged.rows[$0] }, &random)
        }
        return damaged
    }

    private mutating func damage(_ place: Int, _ others: [Row], _ random: inout SeededGenerator) {
        var mutator = ByteMutator(random)
        defer { random = mutator.random }
        var row = rows[place]
        switch Int.random(in: 0..<10, using: &mutator.random) {
        case 0...4:
            row.value = resealed(row, mutator.mutated(row.value, like: others.map(\.value)), &mutator)
            rows[place] = row
        case 5, 6:
            row.key = mutator.mutated(row.key, like: others.map(\.key))
            if mutator.random.once(in: 2) { row.value = resealed(row, row.value, &mutator) }
            if mutator.random.once(in: 2) { rows[place] = row } else { rows.append(row) }
        case 7: rows.remove(at: place)
        case 8: rows[place].value = mutator.random.pick(rows).value
        default: rows.append(Row(table: row.table, key: mutator.random.pick(rows).key, value: row.value))
        }
    }

    /// The value with a checksum that fits, most of the time: what is behind the check must stand damage too.
    private func resealed(_ row: Row, _ value: [UInt8], _ mutator: inout ByteMutator) -> [UInt8] {
        guard !mutator.random.once(in: 5) else { return value }
        func sum(_ bytes: ArraySlice<UInt8>, _ name: String) -> [UInt8] {
            let sum = bytes.withUnsafeBytes { StoredChecksum.of($0, name: name) }
            return stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: sum >> $0) }
        }
        switch row.table {
        case .documents where value.count > 5:
            let content = [2] + value.dropFirst().dropLast(4)
            return content + sum(content[...], DocumentKeys.path(of: row.key))
        case .events where value.count > 4: return sum(value.dropFirst(4), "event") + value.dropFirst(4)
        case .meta where value.count > 9 && row.key.starts(with: "indexes".utf8):
            return StoredIndexes.seal { writer in
                for byte in value.dropFirst().dropLast(8) { writer.write(byte: byte) }
            }
        case .changes where row.key.count > 4:
            // As the first versions wrote documents, without a checksum.
            return mutator.random.once(in: 2) ? value : unsummed(value)
        default: return value
        }
    }

    /// A change's value whose images have no checksums.
    private func unsummed(_ value: [UInt8]) -> [UInt8] {
        guard let (before, after) = try? ChangeLog.images(value) else { return value }
        var writer = ByteWriter()
        writer.write(byte: 1)
        for image in [before, after] {
            writer.write(optional: image) { $0.write(blob: [1] + $1.dropFirst().dropLast(4)) }
        }
        return writer.bytes
    }
}
