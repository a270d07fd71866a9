@testable import CommitPipeline
import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import Synchronization
import Testing

/// Rows that an engine finds damaged: what belongs to them can't be read, and all else can.
struct DamagedRowTests {
    private struct Damaged: StorageReader {
        var kind: StorageError.Kind

        private var error: StorageError { StorageError(kind, "a block has another checksum") }

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? { throw error }

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws { throw error }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws { throw error }

        func count(_ table: StorageTable, _ range: KeyRange) throws -> Int { throw error }

        func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]? { throw error }
    }

    private let id = DeliveryID(event: EventID(version: 1, ordinal: 0), function: "f")

    @Test func aDamagedRowIsOneThatCannotBeRead() throws {
        let damaged = Damaged(kind: .damaged)
        #expect(throws: DecodingFailure.self) { try damaged.delivery(id) }
        #expect(try damaged.readableDelivery(id) == nil)
        #expect(try damaged.storedEvent(id.event) == nil)
    }

    /// What can't be read now may be read later.
    @Test func anUnavailableStoreIsAnError() {
        let unavailable = Damaged(kind: .unavailable)
        #expect(throws: StorageError.self) { try unavailable.readableDelivery(id) }
        #expect(throws: StorageError.self) { try unavailable.storedEvent(id.event) }
    }

    // MARK: An event of two functions

    /// Damage at one function's delivery fails no commit that ends another's. The event stays for the check to report.
    @Test func aDeliveryEndsBesideADamagedOne() async throws {
        let engine = DamagedRow()
        let test = try TestStore(engine: engine)
        test.store.routeEvents(
            by: EventRoutes(maxDepth: 16),
            documents: [try .init("f", .written, "a/{id}"), try .init("g", .written, "a/{id}")])
        try await withStore(test) { test in
            try await test.set("a/b", ["n": .integer(1)])
            let lease = try await test.take("f")
            let event = OutboxKey.event(lease.id.event)
            engine.key.withLock { $0 = OutboxKey.pending(DeliveryID(event: lease.id.event, function: "g")) }
            #expect(try await test.end(lease) == 1)
            #expect(try await test.store.outbox.delivery(lease.id) == nil)
            #expect(try engine.makeReadSession().read { try $0.get(.events, event) } != nil)
            // It could be read after all.
            engine.key.withLock { $0 = nil }
            #expect(try await test.end(test.take("g")) == 1)
            #expect(try test.outboxRows() == 0)
        }
    }

    @Test func aDeliveryIsTheLastOneIfAllOthersAreGone() throws {
        let engine = MemoryEngine()
        let (mine, other) = (
            Delivery(id: id, state: .waiting),
            Delivery(id: DeliveryID(event: id.event, function: "g"), state: .waiting)
        )
        try engine.write { writer in
            try writer.put(.events, OutboxKey.event(id.event), StoredEvent.encode([1], for: ["f", "g"]))
            for delivery in [mine, other] { try writer.putRows(of: delivery) }
            #expect(try !writer.isLast(mine))
            try writer.deleteRows(of: other)
            #expect(try writer.isLast(mine))
            var dead = other
            dead.state = .dead(Timestamp(microseconds: 1))
            try writer.putRows(of: dead)
            #expect(try !writer.isLast(mine))
            try writer.delete(.events, OutboxKey.event(id.event))
            #expect(try !writer.isLast(mine))
        }
        // What can't be read now may be read later.
        let unavailable = StorageBatch(over: Damaged(kind: .unavailable))
        #expect(throws: StorageError.self) { try unavailable.isLast(mine) }
        unavailable.put(.events, OutboxKey.event(id.event), StoredEvent.encode([1], for: ["f", "g"]))
        #expect(throws: StorageError.self) { try unavailable.isLast(mine) }
        let damaged = StorageBatch(over: Damaged(kind: .damaged))
        damaged.put(.events, OutboxKey.event(id.event), StoredEvent.encode([1], for: ["f", "g"]))
        #expect(try !damaged.isLast(mine))
    }
}

/// A memory engine that finds the row of one delivery damaged.
private final class DamagedRow: StorageEngine {
    private let inner = MemoryEngine()
    /// Nil for no damage.
    let key = Mutex<[UInt8]?>(nil)

    func makeReadSession() throws -> any ReadSession {
        WrappingSession(try inner.makeReadSession()) { Reader(inner: $0, engine: self) }
    }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { try body(Writer(writer: $0, engine: self)) }
    }

    func close() throws {}

    private struct Reader: ForwardingReader {
        let inner: any StorageReader
        let engine: DamagedRow

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
            if table == .deliveries, engine.key.withLock({ $0 == key }) {
                throw StorageError(.damaged, "the block can't be read")
            }
            return try inner.get(table, key)
        }
    }

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let engine: DamagedRow

        var inner: any StorageReader { Reader(inner: writer, engine: engine) }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}
