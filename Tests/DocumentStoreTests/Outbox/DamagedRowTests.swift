@testable import CommitPipeline
import DocumentModel
import StorageEngine
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
}
