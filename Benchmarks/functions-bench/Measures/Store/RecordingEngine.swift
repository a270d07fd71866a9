import StorageEngine
import DocumentStore
import Synchronization

/// The operations that a store performs on its engine in one commit, so that they can be replayed elsewhere.
struct CommitRecord: Sendable {
    enum Operation: Sendable {
        case get(StorageTable, [UInt8])
        case put(StorageTable, [UInt8], [UInt8])
        case delete(StorageTable, [UInt8])
    }

    var operations: [Operation] = []
}

/// An in-memory engine that records each batch.
final class RecordingEngine: StorageEngine {
    private let engine = MemoryEngine()
    private let records = Mutex<[CommitRecord]>([])

    /// Returns the batches since the last call.
    func takeRecords() -> [CommitRecord] {
        records.withLock { records in
            defer { records = [] }
            return records
        }
    }

    func makeReadSession() throws -> any ReadSession { try engine.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try engine.write { storage in
            let recorder = Recorder(storage)
            let result = try body(recorder)
            records.withLock { $0.append(recorder.record) }
            return result
        }
    }

    func close() throws { try engine.close() }

    private final class Recorder: StorageWriter {
        private let storage: any StorageWriter
        private(set) var record = CommitRecord()

        init(_ storage: any StorageWriter) { self.storage = storage }

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
            record.operations.append(.get(table, key))
            return try storage.get(table, key)
        }

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            try storage.scan(table, range, reverse: reverse, body)
        }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            try storage.scanKeys(table, range, reverse: reverse, body)
        }

        func count(_ table: StorageTable, _ range: KeyRange) throws -> Int { try storage.count(table, range) }

        func key(_ table: StorageTable, _ range: KeyRange, after count: Int) throws -> [UInt8]? {
            try storage.key(table, range, after: count)
        }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws {
            record.operations.append(.put(table, key, value))
            try storage.put(table, key, value)
        }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws {
            record.operations.append(.delete(table, key))
            try storage.delete(table, key)
        }
    }
}
