import TestSupport
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import CommitPipeline
@testable import DocumentStore
import Synchronization
import Testing

/// Indexes that are built and dropped while documents change and the store is killed.
struct IndexBuildTests {
    private static let collections = ["c", "p/1/c", "p/2/c", "d"]

    private static func field(_ path: String, _ kind: IndexDefinition.Kind) -> IndexDefinition.Field {
        IndexDefinition.Field(FieldPath(segments: path.split(separator: ".").map(String.init)), kind)
    }

    private static let definitions: [IndexDefinition] = [
        IndexDefinition(collectionID: "c", fields: [field("a", .ascending), field("b", .ascending)]),
        IndexDefinition(collectionID: "c", fields: [field("a", .ascending), field("b", .descending)]),
        IndexDefinition(collectionID: "c", fields: [field("tags", .contains), field("m.x", .descending)]),
        IndexDefinition(
            collectionID: "c", scope: .collectionGroup, fields: [field("b", .descending), field("a", .ascending)]),
        IndexDefinition(collectionID: "c", scope: .collectionGroup, fields: [field("tags", .contains)]),
        IndexDefinition(collectionID: "d", fields: [field("m.x", .ascending), field("a", .ascending)]),
    ]

    private static let exemptions: [FieldExemption] = [
        FieldExemption(collectionID: "c", field: FieldPath(segments: ["a"]), isOrdered: false, hasElements: false),
        FieldExemption(collectionID: "c", field: FieldPath(segments: ["m"]), isOrdered: false, hasElements: true),
        FieldExemption(collectionID: "c", field: FieldPath(segments: ["m", "x"]), isOrdered: true, hasElements: false),
        FieldExemption(collectionID: "c", field: FieldPath(segments: ["tags"]), isOrdered: true, hasElements: false),
        FieldExemption(collectionID: "d", field: nil, isOrdered: false, hasElements: false),
        FieldExemption(collectionID: "d", field: FieldPath(segments: ["b"]), isOrdered: true, hasElements: true),
    ]

    private static func value(_ generator: inout SeededGenerator) -> Value {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: .null
        case 1: .double([1, 2, .nan].randomElement(using: &generator) ?? 0)
        case 2: .string(["", "a", "b"].randomElement(using: &generator) ?? "")
        case 3: .string(String(repeating: "y", count: 1600) + (["p", "q"].randomElement(using: &generator) ?? ""))
        case 4: .array([.integer(1), .double(1)])
        default: .integer(.random(in: 0...3, using: &generator))
        }
    }

    private static func write(_ generator: inout SeededGenerator) throws -> Write {
        let collection = collections.randomElement(using: &generator) ?? "c"
        let path = try DocumentPath("\(collection)/d\(Int.random(in: 0..<12, using: &generator))")
        if Int.random(in: 0..<5, using: &generator) == 0 { return Write(path: path, operation: .delete) }
        var fields: [String: Value] = [:]
        for name in ["a", "b"] where Int.random(in: 0..<5, using: &generator) > 0 {
            fields[name] = value(&generator)
        }
        fields["m"] = .map(["x": value(&generator), "y": value(&generator)])
        fields["tags"] = .array(
            (0..<Int.random(in: 0...3, using: &generator)).map { _ in
                Bool.random(using: &generator) ? .integer(.random(in: 0...2, using: &generator)) : .double(1)
            })
        return Write(path: path, operation: .set(fields))
    }

    private static func configuration(_ generator: inout SeededGenerator) -> IndexConfiguration {
        IndexConfiguration(
            indexes: definitions.filter { _ in Bool.random(using: &generator) },
            exemptions: exemptions.filter { _ in Int.random(in: 0..<3, using: &generator) == 0 })
    }

    @Test(arguments: EngineKind.allCases, [1, 2, 3])
    func entriesAreThoseOfTheDocumentsWhateverComesBetween(kind: EngineKind, seed: UInt64) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        var generator = SeededGenerator(seed: seed)
        var configuration = TestStore.configuration
        var commits = CommitConfiguration()
        commits.readerThreads = 1
        for round in 0..<25 {
            // Some batches are larger than others, and after some of them the power goes.
            configuration.indexBatch = .random(in: 1...6, using: &generator)
            let cut = PowerCutEngine(engine, afterBatches: .random(in: 4...30, using: &generator))
            do {
                let store = try DocumentStore(
                    engine: cut, now: ManualClock().timestamp, configuration: configuration, commits: commits)
                try store.start()
                for _ in 0..<Int.random(in: 1...8, using: &generator) {
                    if Int.random(in: 0..<3, using: &generator) == 0 {
                        try? await store.configureIndexes(Self.configuration(&generator))
                    }
                    if Int.random(in: 0..<15, using: &generator) == 0 { try? await store.rebuildIndexes() }
                    let writes = try (0..<4).map { _ in try Self.write(&generator) }
                    _ = try? await store.commit(writes)
                }
                await store.shutdown()
            } catch is StorageError {
                // The power went while it was opened.
            }
            let problems = try IndexInspection(engine).problems()
            #expect(problems.isEmpty, "round \(round)")
        }
        let store = try DocumentStore(engine: engine, now: ManualClock().timestamp, configuration: configuration)
        try store.start()
        try await store.indexesAreDone()
        let inspection = try IndexInspection(engine)
        #expect(inspection.isExact())
        #expect(!inspection.catalog.indexes.contains { !$0.isReady })
        #expect(!inspection.catalog.fields.contains { !$0.isSettled })
        // Without any configuration it is as if there never had been one.
        try await store.configureIndexes(IndexConfiguration())
        try await store.indexesAreDone()
        let last = try IndexInspection(engine)
        #expect(last.isExact() && last.catalog.indexes.isEmpty && last.catalog.fields.isEmpty)
        await store.shutdown()
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func allThatHappensIsTold(kind: EngineKind) async throws {
        let events = EventLog()
        var configuration = TestStore.configuration
        configuration.onIndexEvent = { events.append($0) }
        try await withStore(kind, configuration: configuration) { test in
            try await test.set("c/1", ["a": .integer(1), "b": .integer(2)])
            let wanted = IndexConfiguration(indexes: [Self.definitions[0]], exemptions: [Self.exemptions[0]])
            try await test.store.configureIndexes(wanted)
            try await test.store.indexesAreDone()
            #expect(
                events.take() == [
                    .building(Self.definitions[0]), .changingFields(collectionID: "c"), .ready(Self.definitions[0]),
                    .changedFields(collectionID: "c"),
                ])
            #expect(try await test.store.indexes() == [IndexStatus(definition: Self.definitions[0], state: .ready)])
            // The same again is nothing.
            try await test.store.configureIndexes(wanted)
            try await test.store.indexesAreDone()
            #expect(events.take().isEmpty)
            try await test.store.configureIndexes(IndexConfiguration(exemptions: wanted.exemptions))
            try await test.store.indexesAreDone()
            #expect(events.take() == [.dropping(Self.definitions[0]), .dropped(Self.definitions[0])])
            try await test.store.rebuildIndexes()
            #expect(events.take() == [.rebuilding, .rebuilt])
        }
    }

    @Test(arguments: EngineKind.allCases)
    func aDocumentThatCantBeReadIsPassedOverAndTold(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let events = EventLog()
        var configuration = TestStore.configuration
        configuration.onIndexEvent = { events.append($0) }
        let store = try DocumentStore(engine: engine, now: ManualClock().timestamp, configuration: configuration)
        let key = DocumentKeys.key(of: try DocumentPath("c/bad"))
        try engine.write { try $0.put(.documents, key, [9, 9]) }
        try store.start()
        for id in ["a", "good"] {
            let write = Write(path: try DocumentPath("c/\(id)"), operation: .set(["a": .null, "b": .null]))
            _ = try await store.commit([write])
        }
        try await store.configureIndexes(IndexConfiguration(indexes: [Self.definitions[0]]))
        try await store.indexesAreDone()
        #expect(try await store.indexes().map(\.state) == [.ready])
        try await store.rebuildIndexes()
        let skipped = events.take().compactMap { if case .skipped(let error) = $0 { error } else { nil } }
        #expect(skipped.count == 2)
        #expect(skipped.allSatisfy { $0.code == .dataLoss && $0.message.contains("c/bad") })
        #expect(await refusal { _ = try await store.get([DocumentPath("c/bad")]) }?.code == .dataLoss)
        await store.shutdown()
        // All others have what they should.
        try engine.write { try $0.delete(.documents, key) }
        #expect(try IndexInspection(engine).isExact())
        try engine.close()
    }

    @Test func aDocumentThatTheEngineFindsDamagedIsPassedOver() async throws {
        let engine = DamagedDocument(try DocumentPath("c/bad"))
        let events = EventLog()
        var configuration = TestStore.configuration
        configuration.onIndexEvent = { events.append($0) }
        try await withStore(engine: engine, configuration: configuration) { test in
            for id in ["a", "bad", "good"] { try await test.set("c/\(id)", ["a": .null, "b": .null]) }
            engine.isDamaged.withLock { $0 = true }
            try await test.store.configureIndexes(IndexConfiguration(indexes: [Self.definitions[0]]))
            try await test.store.indexesAreDone()
            #expect(try await test.store.indexes().map(\.state) == [.ready])
        }
        let skipped = events.take().compactMap { if case .skipped(let error) = $0 { error.message } else { nil } }
        #expect(skipped.count == 1)
        #expect(skipped.first?.contains("c/bad: the page can't be read") == true)
    }

    /// The pass looks for each entry's document.
    @Test(.endsHangs) func aNestedDocumentThatTheEngineFindsDamagedStaysInItsGroup() async throws {
        let path = try DocumentPath("x/1/c/bad")
        let engine = DamagedDocument(path)
        try await withStore(engine: engine) { test in
            try await test.set("x/1/c/bad", ["a": .null])
            engine.isDamaged.withLock { $0 = true }
            try await test.store.rebuildIndexes()
        }
        let entry = try #require(IndexEntries.groupEntry(of: path))
        #expect(try engine.makeReadSession().read { try $0.get(.index, entry.key) } != nil)
    }

    /// The log says why an index isn't built.
    @Test func noCommitFailsForDocumentsThatCannotBeIndexed() async throws {
        let events = EventLog()
        var configuration = TestStore.configuration
        configuration.onIndexEvent = { events.append($0) }
        try await withStore(engine: DamagedRemains(.documents), configuration: configuration) { test in
            try await test.set("c/a", ["a": .null, "b": .null])
            try await test.store.configureIndexes(IndexConfiguration(indexes: [Self.definitions[0]]))
            for number in 1...3 as ClosedRange<Int64> { try await test.set("c/a", ["a": .integer(number)]) }
            #expect(try await test.get("c/a")?.fields["a"] == .integer(3))
            let failure = DocumentError(.dataLoss, "the page can't be read")
            #expect(events.take() == [.building(Self.definitions[0]), .failed(failure)])
        }
    }

    @Test func aRemovalEndsThoughCommitsPutEntriesAllTheTime() throws {
        let engine = MemoryEngine()
        var pass = IndexPass(scope: .everything, stage: .removal, indexes: [], fields: [])
        try engine.write { storage in
            for i in 0..<200 { try storage.put(.index, [1, UInt8(i)], []) }
            try storage.put(.index, IndexScope.groupPrefix("c"), [])
            for i in 0..<100 { try storage.put(.index, [9, UInt8(i)], []) }
            for _ in 0..<20 where pass.stage == .removal {
                // As many as one step removes.
                for i in 0..<64 { try storage.put(.index, [0, UInt8(i)], []) }
                _ = try pass.advance(IndexCatalog(), storage, until: { true }, skipped: { _ in })
            }
            #expect(pass.stage == .documents)
            var left: Set<UInt8> = []
            try storage.scanKeys(.index, KeyRange(lower: [1], upper: nil), reverse: false) { key in
                left.insert(key[0])
                return true
            }
            #expect(left == [5])
        }
    }

    /// The store isn't started, so what waits for its writer stays there.
    @Test func indexesHaveTheirShareThoughJobsWait() throws {
        let engine = MemoryEngine()
        var configuration = TestStore.configuration
        configuration.indexShareLimit = .seconds(1000)
        var commits = CommitConfiguration()
        commits.joinLimit = .zero
        let store = try DocumentStore(
            engine: engine, now: ManualClock().timestamp, configuration: configuration, commits: commits)
        store.rollback(TransactionID(rawValue: 1), in: OperationContext()) { _ in }
        try engine.write { storage in
            for i in 0..<200 {
                let document = Document(
                    path: try DocumentPath("c/d\(i)"), fields: ["a": .null, "b": .null], createTime: store.now(),
                    updateTime: store.now())
                try storage.put(
                    .documents, DocumentKeys.key(of: document.path), StoredDocument.encode(document))
            }
        }
        let wanted = IndexConfiguration(indexes: [Self.definitions[0]])
        let job = IndexJob(work: .configure(wanted, { _ in }), writer: store.writer)
        try store.pipeline.makeWriter().runBatch([job])
        let inspection = try IndexInspection(engine)
        let areReady = inspection.catalog.indexes.allSatisfy(\.isReady)
        #expect(areReady)
        #expect(!store.pipeline.jobs.isEmpty)
        store.pipeline.jobs.close()
    }

    @Test func workThatAFullDiskHasStoppedGoesOnThoughEachBatchHasJobs() throws {
        let engine = FailingEngine()
        let clock = ManualClock()
        var configuration = TestStore.configuration
        configuration.indexBatch = 10
        configuration.indexShareLimit = .seconds(1000)
        var commits = CommitConfiguration()
        commits.joinLimit = .zero
        let store = try DocumentStore(
            engine: engine, now: clock.timestamp, elapsed: clock.elapsed, configuration: configuration,
            commits: commits)
        try engine.write { storage in
            for i in 0..<50 {
                let document = Document(
                    path: try DocumentPath("c/d\(i)"), fields: ["a": .null, "b": .null], createTime: store.now(),
                    updateTime: store.now())
                try storage.put(
                    .documents, DocumentKeys.key(of: document.path), StoredDocument.encode(document))
            }
        }
        let writer = try store.pipeline.makeWriter()
        func run(_ work: IndexJob.Work) { writer.runBatch([IndexJob(work: work, writer: store.writer)]) }
        run(.configure(IndexConfiguration(indexes: [Self.definitions[0]]), { _ in }))
        #expect(try IndexInspection(engine).catalog.indexes.map(\.isReady) == [false])
        engine.fails.withLock { $0 = true }
        run(.done({ _ in }))
        engine.fails.withLock { $0 = false }
        for _ in 0..<120 {
            clock.advance(by: .seconds(1))
            run(.done({ _ in }))
        }
        let inspection = try IndexInspection(engine)
        #expect(inspection.catalog.indexes.map(\.isReady) == [true])
        store.pipeline.jobs.close()
    }

    /// Whether its own batch finds no room on the disk, or has failed before it was configured.
    @Test(arguments: [true, false])
    func aConfigurationWhoseBatchHasFailedIsKeptWithALaterOne(isRun: Bool) throws {
        let engine = FailingEngine()
        let store = try DocumentStore(
            engine: engine, now: ManualClock().timestamp, configuration: TestStore.configuration)
        let writer = try store.pipeline.makeWriter()
        let refusals = Mutex(0)
        let wanted = IndexConfiguration(indexes: [Self.definitions[0]])
        let work = IndexJob.Work.configure(
            wanted,
            { result in
                if case .failure = result { refusals.withLock { $0 += 1 } }
            })
        let job = IndexJob(work: work, writer: store.writer)
        engine.fails.withLock { $0 = true }
        writer.runBatch(isRun ? [job] : [RefusedJob(), job])
        engine.fails.withLock { $0 = false }
        #expect(refusals.withLock { $0 } == 1)
        #expect(try IndexInspection(engine).catalog.indexes.isEmpty)
        writer.runBatch([])
        #expect(try IndexInspection(engine).catalog.indexes.map(\.definition) == wanted.indexes)
        store.pipeline.jobs.close()
    }

    /// A batch that was kept without it would name a catalog that isn't there, with which no store can be opened.
    @Test func noBatchIsKeptWhoseCatalogCannotBeStored() throws {
        let engine = FixedCatalog()
        let store = try DocumentStore(
            engine: engine, now: ManualClock().timestamp, configuration: TestStore.configuration)
        let writer = try store.pipeline.makeWriter()
        let wanted = IndexConfiguration(indexes: [Self.definitions[0]])
        engine.isDamaged.withLock { $0 = true }
        writer.runBatch([IndexJob(work: .configure(wanted, { _ in }), writer: store.writer)])
        writer.runBatch([])
        engine.isDamaged.withLock { $0 = false }
        #expect(try IndexInspection(engine).catalog.indexes.isEmpty)
        writer.runBatch([])
        #expect(try IndexInspection(engine).catalog.indexes.map(\.definition) == wanted.indexes)
        store.pipeline.jobs.close()
    }

    /// A full disk fails a batch at its end, after its work on indexes.
    @Test func aFailureThatGoesOnIsReportedOnce() throws {
        let engine = FailingEngine()
        let events = EventLog()
        var configuration = TestStore.configuration
        configuration.onIndexEvent = { events.append($0) }
        let store = try DocumentStore(engine: engine, now: ManualClock().timestamp, configuration: configuration)
        let writer = try store.pipeline.makeWriter()
        let work = IndexJob.Work.configure(IndexConfiguration(indexes: [Self.definitions[0]]), { _ in })
        func failures() -> Int { events.take().count { if case .failed = $0 { true } else { false } } }
        engine.fails.withLock { $0 = true }
        writer.runBatch([IndexJob(work: work, writer: store.writer)])
        for _ in 0..<3 { writer.runBatch([]) }
        #expect(failures() == 1)
        engine.fails.withLock { $0 = false }
        writer.runBatch([])
        #expect(try IndexInspection(engine).catalog.indexes.count == 1)
        #expect(failures() == 0)
        store.pipeline.jobs.close()
    }

    @Test func aConfigurationThatIsNotPossibleIsRefused() async throws {
        try await withStore { test async throws -> Void in
            let many = (0..<201).map {
                IndexDefinition(
                    collectionID: "c\($0)", fields: [Self.field("a", .ascending), Self.field("b", .ascending)])
            }
            let twoArrays = IndexDefinition(
                collectionID: "c", fields: [Self.field("a", .contains), Self.field("b", .contains)])
            let twice = IndexDefinition(
                collectionID: "c", fields: [Self.field("a", .ascending), Self.field("a", .descending)])
            let empty = IndexDefinition(collectionID: "c", fields: [])
            for (indexes, word) in [(many, "200"), ([twoArrays], "array"), ([twice], "twice"), ([empty], "0 fields")] {
                let error = await refusal {
                    try await test.store.configureIndexes(IndexConfiguration(indexes: indexes))
                }
                #expect(error?.code == .invalidArgument)
                #expect(error?.message.contains(word) == true)
            }
            #expect(try await test.store.indexes().isEmpty)
        }
    }
}

/// A job with which the engine keeps nothing of the batch.
private struct RefusedJob: CommitJob {
    func run(in batch: CommitBatch) throws { throw StorageError(.unavailable, "the disk is full") }

    func fail(_ error: DocumentError) {}
}

/// What a store reported, in order.
final class EventLog: Sendable {
    private let events = Mutex<[IndexEvent]>([])

    func append(_ event: IndexEvent) { events.withLock { $0.append(event) } }

    func take() -> [IndexEvent] {
        events.withLock { events in
            defer { events = [] }
            return events
        }
    }
}

/// A memory engine that can't store the catalog, because its page is damaged.
private final class FixedCatalog: StorageEngine {
    private let inner = MemoryEngine()
    let isDamaged = Mutex(false)

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { try body(Writer(writer: $0, isDamaged: isDamaged.withLock { $0 })) }
    }

    func close() throws {}

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let isDamaged: Bool

        var inner: any StorageReader { writer }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws {
            if isDamaged, table == .meta, key == Array("indexes".utf8) {
                throw StorageError(.damaged, "the page can't be read")
            }
            try writer.put(table, key, value)
        }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}

/// A memory engine whose writer finds a document damaged.
private final class DamagedDocument: StorageEngine {
    private let inner = MemoryEngine()
    private let key: [UInt8]
    let isDamaged = Mutex(false)

    init(_ path: DocumentPath) { key = DocumentKeys.key(of: path) }

    func makeReadSession() throws -> any ReadSession { try inner.makeReadSession() }

    func write<Result>(_ body: (any StorageWriter) throws -> Result) throws -> Result {
        try inner.write { try body(Writer(writer: $0, damaged: isDamaged.withLock { $0 } ? key : nil)) }
    }

    func close() throws {}

    private struct Writer: StorageWriter, ForwardingReader {
        let writer: any StorageWriter
        let damaged: [UInt8]?

        var inner: any StorageReader { writer }

        func get(_ table: StorageTable, _ key: [UInt8]) throws -> [UInt8]? {
            if table == .documents, key == damaged { throw StorageError(.damaged, "the page can't be read") }
            return try writer.get(table, key)
        }

        func put(_ table: StorageTable, _ key: [UInt8], _ value: [UInt8]) throws { try writer.put(table, key, value) }

        func delete(_ table: StorageTable, _ key: [UInt8]) throws { try writer.delete(table, key) }
    }
}
