import DataDirectory
import EmbeddedStorage
import TestSupport
import SQLiteStorage
import StorageEngine
import DocumentModel
import DocumentStore
@testable import ControlProtocol
@testable import ControlAPI
import Synchronization
import Testing

struct DataServiceTests {
    private struct Stopped: Error {}

    /// Chunks of bytes that are available at once.
    private struct Pieces: AsyncSequence, Sendable {
        typealias Failure = any Error
        var pieces: [[UInt8]] = []

        struct AsyncIterator: AsyncIteratorProtocol {
            var rest: ArraySlice<[UInt8]>
            mutating func next() async throws -> [UInt8]? { rest.popFirst() }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: pieces[...]) }
    }

    private func store() throws -> DocumentStore {
        let store = try DocumentStore(engine: MemoryEngine(), now: Timestamp.wallClock)
        try store.start()
        return store
    }

    private func set(_ path: String, _ fields: [String: Value], in store: DocumentStore) async throws {
        let write = Write(path: try DocumentPath(path), operation: .set(fields))
        _ = try await store.commit([write])
    }

    private func export(_ store: DocumentStore, _ collections: [String] = []) async throws -> [UInt8] {
        var bytes: [UInt8] = []
        _ = try await DataService(store, database: DatabaseID(project: "p")).perform(
            .export(collections.isEmpty ? .everything : .collections(try collections.map { try CollectionPath($0) })),
            input: Pieces()
        ) { event in
            if case .lines(let lines) = event { bytes += lines }
        }
        return bytes
    }

    private func documents(_ store: DocumentStore) throws -> [DocumentPath: [String: Value]] {
        var documents: [DocumentPath: [String: Value]] = [:]
        try store.export(begin: { _ in }, document: { documents[$0.path] = $0.fields })
        return documents
    }

    @Test func anImportThatFailsAfterClearingReportsBoth() async throws {
        let store = try store()
        try await set("a/b", ["n": .integer(1)], in: store)
        let header = "{\"format\":\"functions-host documents\",\"version\":1,\"project\":\"p\","
        let text = header + "\"readTime\":\"2026-01-01T00:00:00Z\"}\n{\"path\":1}\n"
        var events: [DataEvent] = []
        do {
            _ = try await DataService(store, database: DatabaseID(project: "p")).perform(
                .importDocuments(clearing: true), input: Pieces(pieces: [Array(text.utf8)])
            ) { events.append($0) }
            Issue.record("a wrong line was imported")
        } catch let error as DocumentError {
            #expect(error.message.hasPrefix("line 2"))
            #expect(error.message.contains("the documents from before the import are deleted"))
        }
        #expect(events == [.progress(done: 1, total: nil)])
        #expect(try documents(store).isEmpty)
        await store.shutdown()
    }

    @Test(arguments: [
        (#"{"__x__":{"nullValue":null}}"#, "__x__"),
        (#"{"l":{"bytesValue":"\#(String(repeating: "A", count: 1_500_000))"}}"#, "the limit"),
    ])
    func aDocumentThatIsNotPossibleIsNamedWithItsLine(fields: String, message: String) async throws {
        let store = try store()
        let header = "{\"format\":\"functions-host documents\",\"version\":1,\"project\":\"p\","
        let text =
            header + "\"readTime\":\"2026-01-01T00:00:00Z\"}\n{\"path\":\"a/b\",\"fields\":{}}\n"
            + "{\"path\":\"a/c\",\"fields\":\(fields)}\n"
        let error = await #expect(throws: DocumentError.self) {
            _ = try await DataService(store, database: DatabaseID(project: "p")).perform(
                .importDocuments(clearing: false), input: Pieces(pieces: [Array(text.utf8)])
            ) { _ in }
        }
        #expect(error?.message.hasPrefix("line 3, a/c: ") == true)
        #expect(error?.message.contains(message) == true)
        await store.shutdown()
    }

    /// Its file has damage that no read meets, such as keys out of their order.
    private struct DamagedFile: EmbeddedEngine {
        private let inner = MemoryEngine()

        func findDamage(until cancellation: BlockingWork.Cancellation, _ report: (String) throws -> Bool) throws {
            _ = try report("a page is out of order")
        }

        func copy(to target: String, replacing: Bool, progress: (WorkProgress) throws -> Void) throws -> Int { 0 }

        func compact(
            _ extent: CompactionExtent, until cancellation: BlockingWork.Cancellation,
            progress: (WorkProgress) throws -> Void
        ) throws -> Compaction {
            Compaction(before: 0, after: 0, kept: 0)
        }

        func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

        func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result { try inner.write(body) }

        func close() throws { try inner.close() }
    }

    /// What a search in it doesn't find may be there.
    @Test func nothingIsRepairedInADamagedFile() async throws {
        let engine = DamagedFile()
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        try await set("a/b", ["n": .integer(1)], in: store)
        try engine.write { storage in
            var entry: [UInt8]?
            try storage.scanKeys(.index, .all, reverse: false) { key in
                entry = key
                return false
            }
            try storage.delete(.index, try #require(entry))
        }
        let service = DataService(store, database: DatabaseID(project: "p"))
        let outcome = try await service.perform(.check(repairing: true), input: Pieces()) { _ in }
        #expect(outcome["problems"] == 2)
        #expect(outcome["repairable"] == 0)
        #expect(outcome.numbers["repaired"] == nil)
        await store.shutdown()
    }

    /// Its writes fail once a test wants it, as on a full disk.
    private final class FillingEngine: StorageEngine {
        private let inner = MemoryEngine()
        let isFull = Mutex(false)

        func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

        func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
            if isFull.withLock({ $0 }) { throw StorageError(.unavailable, "the disk is full") }
            return try inner.write(body)
        }

        func close() throws { try inner.close() }
    }

    /// An export in two parts, between which the disk gets full.
    private struct LastPieces: AsyncSequence, Sendable {
        typealias Failure = any Error

        let pieces: [[UInt8]]
        let engine: FillingEngine

        struct AsyncIterator: AsyncIteratorProtocol {
            var rest: ArraySlice<[UInt8]>
            let engine: FillingEngine

            mutating func next() async throws -> [UInt8]? {
                if rest.count == 1 { engine.isFull.withLock { $0 = true } }
                return rest.popFirst()
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: pieces[...], engine: engine) }
    }

    /// The store isn't empty at the next start, which refuses the same import.
    @Test func aSeedWhoseBeginningCannotBeDeletedSaysSo() async throws {
        let engine = FillingEngine()
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        let header = #"{"format":"functions-host documents","version":1,"project":"p","#
        // More than one commit takes.
        let documents = (0..<600).map { #"{"path":"a/\#($0)","fields":{}}"# }
        let lines = [header + #""readTime":"2026-01-01T00:00:00Z"}"#] + documents
        let pieces = [lines.map { $0 + "\n" }.joined(), "{\"path\":1}\n"].map { Array($0.utf8) }
        do {
            _ = try await DataService(store, database: DatabaseID(project: "p")).seed(
                LastPieces(pieces: pieces, engine: engine))
            Issue.record("a wrong line was imported")
        } catch let error as DocumentError {
            #expect(error.message.hasPrefix("line 602"), "\(error.message)")
            #expect(error.message.contains("what was imported before stays"))
            #expect(error.message.contains("the disk is full"))
        }
        #expect(try self.documents(store).count == 500)
        engine.isFull.withLock { $0 = false }
        await store.shutdown()
    }

    @Test func exportAndImportPreserveEachValue() async throws {
        let store = try store()
        let values: [Value] = [
            .null, .boolean(false), .integer(.min), .integer(.max), .double(-0.0), .double(.nan), .double(.infinity),
            .double(-.infinity), .double(.leastNonzeroMagnitude), .double(0.1), .double(.greatestFiniteMagnitude),
            .timestamp(Timestamp(microseconds: -62_135_596_800_000_000)), .timestamp(Timestamp(microseconds: 1)),
            .string("\u{0}\u{1F}\"\\\u{2028}é\u{65}\u{301}😀"), .bytes(Array(0...255)), .bytes([]),
            .reference(DocumentName(database: DatabaseID(project: "p"), path: try DocumentPath("a/b"))),
            .geoPoint(GeoPoint(latitude: -90, longitude: 179.999_999)), .array([]), .map([:]),
            .map(["__type__": .string("__vector__"), "value": .array([.double(1), .double(-0.0)])]),
            .map(["a.b": .array([.map(["`": .integer(1)])])]),
        ]
        for (i, value) in values.enumerated() { try await set("c/d\(i)", ["v": value, "ü/": value], in: store) }
        try await set("c/d0/sub/\u{1}x", [:], in: store)
        let bytes = try await export(store)
        let copy = try self.store()
        // In chunks that end anywhere.
        let pieces = stride(from: 0, to: bytes.count, by: 77).map { Array(bytes[$0..<min($0 + 77, bytes.count)]) }
        let service = DataService(copy, database: DatabaseID(project: "p"))
        for _ in 1...2 {
            let outcome = try await service.perform(
                .importDocuments(clearing: false), input: Pieces(pieces: pieces)
            ) { _ in }
            #expect(outcome["documents"] == values.count + 1)
        }
        let (original, imported) = (try documents(store), try documents(copy))
        #expect(imported == original)
        let sign = imported[try DocumentPath("c/d4")]?["v"]
        if case .double(let zero)? = sign { #expect(zero.sign == .minus) } else { Issue.record("\(sign as Any)") }
        // The second import of the same documents changes nothing: the change log has each document once.
        let check = try copy.check(report: { Issue.record("\($0)") }, progress: { _ in })
        #expect(check.changes == values.count + 1)
        await store.shutdown()
        await copy.shutdown()
    }

    @Test func selectedCollectionsAreExportedOnceWithTheirSubcollections() async throws {
        let store = try store()
        for path in ["a/1", "a/1/x/1", "ab/1", "b/1/x/1", "b/1/y/1"] { try await set(path, [:], in: store) }
        let lines = String(decoding: try await export(store, ["b/1/x", "a/1/x", "a"]), as: UTF8.self).split(
            separator: "\n")
        let paths = lines.dropFirst().dropLast().map { $0.split(separator: "\"")[3] }
        #expect(paths == ["a/1", "a/1/x/1", "b/1/x/1"])
        #expect(lines.last == #"{"count":3}"#)
        await store.shutdown()
    }

    /// What can't be read is named, and all else is there.
    @Test func anExportLeavesOutWhatCannotBeRead() async throws {
        let engine = MemoryEngine()
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        for name in ["a", "b", "c"] { try await set("d/\(name)", [:], in: store) }
        try engine.write { storage in
            var keys: [[UInt8]] = []
            try storage.scanKeys(.documents, .all, reverse: false) { key in
                keys.append(key)
                return true
            }
            try storage.put(.documents, keys[1], [255])
        }
        var bytes: [UInt8] = []
        var problems: [String] = []
        let outcome = try await DataService(store, database: DatabaseID(project: "p")).perform(
            .export(.everything), input: Pieces()
        ) { event in
            switch event {
            case .lines(let lines): bytes += lines
            case .problem(let problem): problems.append(problem)
            case .progress, .bytes: break
            }
        }
        let lines = String(decoding: bytes, as: UTF8.self).split(separator: "\n")
        #expect(lines.dropFirst().dropLast().map { $0.split(separator: "\"")[3] } == ["d/a", "d/c"])
        #expect(problems.count == 1)
        #expect(problems.first?.hasPrefix("the document \"d/b\" can't be read: ") == true)
        #expect(outcome.numbers == ["documents": 2, "users": 0, "unreadable": 1])
        await store.shutdown()
    }

    @Test func anExportEndsWithItsReader() async throws {
        let store = try store()
        let text = Value.string(String(repeating: "x", count: 100_000))
        for i in 0..<40 { try await set("c/d\(i)", ["t": text], in: store) }
        let service = DataService(store, database: DatabaseID(project: "p"))
        await #expect(throws: Stopped.self) {
            _ = try await service.perform(.export(.everything), input: Pieces()) { _ in throw Stopped() }
        }
        await store.shutdown()
    }

    @Test func aFullPipeTimesOut() async throws {
        let pipe = WorkPipe<Int>(limit: 2, stallTimeout: .milliseconds(50))
        try pipe.send(1)
        try pipe.send(2)
        #expect(throws: DocumentError.self) { try pipe.send(3) }
        #expect(await pipe.next() == 1)
        try pipe.send(4)
        pipe.finish()
        #expect(await pipe.next() == 2)
        #expect(await pipe.next() == 4)
        #expect(await pipe.next() == nil)
        pipe.abandon()
    }

    /// The reader doesn't wait for what is never sent.
    @Test(.endsHangs) func aPipeWhoseThreadTheSystemRefusesFails() async {
        await #expect(throws: StorageError.self) {
            try await WorkPipe<Int>.run("large", until: BlockingWork.Cancellation(), stackSize: 1 << 50) { _ in
                Issue.record("it ran")
            } receive: { _ in
            }
        }
    }

    @Test(arguments: [DataRequest.check(repairing: false), .compact(whole: true)])
    func cancellationEndsSilentOperations(request: DataRequest) async throws {
        let directory = try TemporaryDirectory()
        let engine = try SQLiteEngine(file: directory.path + "/documents.sqlite")
        let store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        let service = DataService(store, database: DatabaseID(project: "p"))
        let cancellation = BlockingWork.Cancellation()
        cancellation.cancel()
        await #expect(throws: CancellationError.self) {
            _ = try await service.perform(request, input: Pieces(), until: cancellation) { event in
                Issue.record("\(event)")
            }
        }
        _ = try await service.perform(request, input: Pieces()) { _ in }
        await store.shutdown()
        try engine.close()
    }

    /// Its host would go on with the file that it has open.
    @Test func aBackupReplacesNoStoreOfAHost() async throws {
        let temporary = try TemporaryDirectory()
        let other = try DataDirectory.open(temporary.file("other"))
        let store = try EmbeddedStore(in: other.path).open()
        try store.write { try $0.put(.documents, [1], [1]) }
        let own = try SQLiteEngine(file: temporary.file("own.sqlite"))
        let documents = try DocumentStore(engine: own, now: Timestamp.wallClock)
        try documents.start()
        let service = DataService(documents, database: DatabaseID(project: "p"))
        func backUp(_ file: String, replacing: Bool = true) async throws {
            _ = try await service.perform(.backUp(file: file, replacing: replacing), input: Pieces()) { _ in }
        }
        let place = other.file("documents.sqlite")
        let error = await #expect(throws: DocumentError.self) { try await backUp(place) }
        #expect(
            error?.message
                == "\(place) belongs to the store of the data directory \(other.path); name a place elsewhere for the backup"
        )
        // The next start would take these for its own.
        for name in ["documents.rocksdb", "documents.rocksdb/CURRENT", "documents.sqlite.restored"] {
            await #expect(throws: DocumentError.self, "\(name)") {
                try await backUp(other.file(name), replacing: false)
            }
        }
        // That host may have ended, too.
        try store.close()
        other.close()
        await #expect(throws: DocumentError.self) { try await backUp(place) }
        let again = try EmbeddedStore(in: other.path).open()
        #expect(try again.makeReadSession().read { try $0.get(.documents, [1]) } == [1])
        try again.close()
        for _ in 0..<2 { try await backUp(other.file("backup.sqlite")) }
        // Names of directories may have dots.
        await #expect(throws: DocumentError.self) {
            try await backUp(temporary.file("other/../other/documents.sqlite"))
        }
        try await backUp(temporary.file("other/../dots.sqlite"))
        #expect(StoreFile.exists(temporary.file("dots.sqlite")))
        await documents.shutdown()
        try own.close()
    }

    @Test func anEngineWithoutAFileIsReported() async throws {
        let store = try store()
        let service = DataService(store, database: DatabaseID(project: "p"))
        for request in [DataRequest.backUp(file: "/tmp/x", replacing: false), .compact(whole: false)] {
            let error = await #expect(throws: DocumentError.self) {
                _ = try await service.perform(request, input: Pieces()) { _ in }
            }
            #expect(error?.code == .unimplemented)
        }
        await store.shutdown()
    }
}
