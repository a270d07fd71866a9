import DocumentModel
import StorageEngine
import StoreTestSupport
import Synchronization
import Testing

@testable import DocumentStore

/// A block that can't be read, with the names of the documents in it.
struct LostBlockTests {
    @Test func anExportGoesOnBehindIt() async throws {
        let engine = LostBlock()
        let test = try TestStore(engine: engine)
        for name in ["a", "b", "c", "d"] { try await test.set("d/\(name)", [:]) }
        let key = DocumentKeys.key(of: try DocumentPath("d/b"))
        engine.key.withLock { $0 = key }
        var (exported, problems) = ([String](), [String]())
        try test.store.export(
            begin: { _ in }, document: { exported.append($0.path.string) }, damaged: { problems.append($0) })
        #expect(exported == ["d/a", "d/c", "d/d"])
        #expect(
            problems == ["the documents after \"d/a\" before \"d/c\" can't be read: the block can't be read"])
        await test.store.shutdown()
    }
}

/// A memory engine whose readers can't pass a document's key.
private final class LostBlock: StorageEngine {
    private let inner = MemoryEngine()
    let key = Mutex<[UInt8]?>(nil)

    func makeReadSession() throws -> any ReadSession {
        WrappingSession(try inner.makeReadSession()) { Reader(inner: $0, lost: self.key.withLock { $0 }) }
    }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result { try inner.write(body) }

    func close() throws {}

    private struct Reader: ForwardingReader {
        let inner: any StorageReader
        let lost: [UInt8]?

        private func check(_ table: StorageTable, _ key: [UInt8]) throws {
            if table == .documents, key == lost { throw StorageError(.damaged, "the block can't be read") }
        }

        func scan(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8], [UInt8]) throws -> Bool
        ) throws {
            try inner.scan(table, range, reverse: reverse) { key, value in
                try check(table, key)
                return try body(key, value)
            }
        }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            try inner.scanKeys(table, range, reverse: reverse) { key in
                try check(table, key)
                return try body(key)
            }
        }
    }
}
