@testable import CommitPipeline
import TestSupport
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import Testing

struct PastReadTests {
    private func get(_ test: TestStore, _ path: String, at time: Timestamp) async throws -> Document? {
        let answer = try await test.store.get([DocumentPath(path)], .at(time))
        #expect(answer.readTime == time)
        return try #require(answer.documents.first)
    }

    private func query(_ test: TestStore, _ query: Query, at time: Timestamp) async throws -> [Document] {
        let answer = try await test.store.query(query, .at(time))
        #expect(answer.readTime == time)
        return answer.documents
    }

    @Test func aChangedUpdateTimeIsDamageAndNotAnotherState() async throws {
        try await withStore { test in
            try await test.set("c/d", ["n": .integer(1)])
            let time = try await test.set("c/e", ["n": .integer(2)]).commitTime
            let key = DocumentKeys.key(of: try DocumentPath("c/d"))
            try test.store.engine.write { storage in
                var bytes = try #require(try storage.get(.documents, key))
                // The high end of the update time: as if it had changed long after.
                bytes[10] ^= 0x40
                try storage.put(.documents, key, bytes)
            }
            await #expect(throws: DocumentError.self) { try await query(test, Query(collectionID: "c"), at: time) }
            let error = await #expect(throws: DocumentError.self) { try await get(test, "c/d", at: time) }
            #expect(error?.code == .dataLoss)
            #expect(error?.message.contains("checksum") == true)
        }
    }

    /// However much of what was changed is remembered.
    @Test(arguments: EngineKind.allCases, [0, 20, 50_000])
    func everyEarlierStateIsReadExactly(kind: EngineKind, remembered: Int) async throws {
        var configuration = TestStore.configuration
        configuration.maxRecentChanges = remembered
        try await withStore(kind, configuration: configuration) { test in
            var generator = SeededGenerator(seed: 11)
            var states: [(time: Timestamp, documents: [DocumentPath: Document])] = []
            var documents: [DocumentPath: Document] = [:]
            let paths = try (0..<6).map { try DocumentPath($0 < 4 ? "c/d\($0)" : "c/d0/c/e\($0)") }
            for _ in 0..<120 {
                var writes: [Write] = []
                for path in paths where Int.random(in: 0..<4, using: &generator) == 0 {
                    let fields = ["n": Value.integer(.random(in: 0..<5, using: &generator))]
                    let operation: Write.Operation =
                        Bool.random(using: &generator) ? .set(fields) : .delete
                    writes.append(Write(path: path, operation: operation))
                }
                guard !writes.isEmpty else { continue }
                let time = try await test.commit(writes).commitTime
                for write in writes { documents[write.path] = try await test.get(write.path.string) }
                states.append((time, documents))
            }
            var ordered = Query(collectionID: "c")
            ordered.orderBy = [Query.Order(try FieldPath("n"), descending: true)]
            ordered.limit = 2
            var group = Query(collectionID: "c", allDescendants: true)
            group.filter = .field(try FieldPath("n"), .lessThan, .integer(3))
            for (time, documents) in states {
                for path in paths { #expect(try await get(test, path.string, at: time) == documents[path]) }
                #expect(
                    try await test.store.get(paths, .at(time))
                        == DocumentsAnswer(documents: paths.map { documents[$0] }, readTime: time))
                for query in [ordered, group] {
                    let normalized = try NormalizedQuery(query)
                    let expected = documents.values.compactMap(normalized.resultPlace)
                        .sorted { normalized.compare($0, $1) == .ascending }
                        .prefix(query.limit ?? .max).map(\.document)
                    #expect(try await self.query(test, query, at: time) == Array(expected))
                }
            }
        }
    }

    @Test(arguments: EngineKind.allCases) func earlierIDsAreListedExactly(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            var generator = SeededGenerator(seed: 12)
            let ids = ["a", "b", "__id7__", "é"]
            var states: [(time: Timestamp, paths: Set<String>)] = []
            var paths: Set<String> = []
            for _ in 0..<150 {
                let depth = Int.random(in: 1...2, using: &generator)
                let path = try (0..<depth).map { _ in
                    let collection = try #require(ids.filter { $0.first != "_" }.randomElement(using: &generator))
                    return collection + "/" + (try #require(ids.randomElement(using: &generator)))
                }.joined(separator: "/")
                let isSet = Bool.random(using: &generator)
                let operation: Write.Operation = isSet ? .set([:]) : .delete
                let time = try await test.commit([Write(path: DocumentPath(path), operation: operation)]).commitTime
                if isSet { paths.insert(path) } else { paths.remove(path) }
                states.append((time, paths))
            }
            for (time, paths) in states {
                let segments = paths.map { $0.split(separator: "/").map(String.init) }
                #expect(
                    try await test.ids(.collections(below: nil), at: time) == Set(segments.map { $0[0] }).sorted())
                let below = segments.filter { $0.count > 2 && $0[0] == "a" }
                // The numeric id comes first.
                let parents = Set(below.map { $0[1] }).sorted()
                #expect(try await test.ids(.parents(in: try CollectionPath("a")), at: time) == parents)
                let first = try await test.ids(.parents(in: try CollectionPath("a")), atMost: 1, at: time)
                #expect(first == Array(parents.prefix(1)))
                guard let first = first.first else { continue }
                let rest = try await test.ids(.parents(in: try CollectionPath("a")), after: first, at: time)
                #expect(rest == Array(parents.dropFirst()))
                let own = Set(below.filter { $0[1] == "b" }.map { $0[2] }).sorted()
                #expect(try await test.ids(.collections(below: try DocumentPath("a/b")), at: time) == own)
            }
        }
    }

    /// Counts the scans of the log.
    private final class CountingReader: ForwardingReader {
        let inner: any StorageReader
        var scans = 0
        var rows = 0

        init(_ inner: any StorageReader) { self.inner = inner }

        func scanKeys(
            _ table: StorageTable, _ range: KeyRange, reverse: Bool, _ body: ([UInt8]) throws -> Bool
        ) throws {
            scans += 1
            try inner.scanKeys(table, range, reverse: reverse) { key in
                rows += 1
                return try body(key)
            }
        }
    }

    /// Ten documents were there and are gone, and much happened elsewhere since.
    private func readGone(remembering: Int, _ body: (DocumentView, [DocumentPath], CountingReader) throws -> Void)
        async throws
    {
        var configuration = TestStore.configuration
        configuration.maxRecentChanges = remembering
        let engine = MemoryEngine()
        try await withStore(engine: engine, configuration: configuration) { test in
            let paths = try (0..<10).map { try DocumentPath("gone/\($0)") }
            let time = try await test.commit(paths.map { Write(path: $0, operation: .set([:])) }).commitTime
            try await test.commit(paths.map { Write(path: $0, operation: .delete) })
            for n in 0..<100 { try await test.set("other/\(n)", [:]) }
            try engine.makeReadSession().read { storage in
                let reader = CountingReader(storage)
                let lookup = PastLookup(test.store.parts, Set(paths))
                try body(DocumentView(reader, at: time.microseconds, lookup), paths, reader)
            }
        }
    }

    @Test func whatIsRememberedIsNotLookedForInTheLog() async throws {
        try await readGone(remembering: 1000) { view, paths, reader in
            for path in paths { #expect(try view.document(path) != nil) }
            #expect(try view.document(try DocumentPath("gone/never")) == nil)
            try view.forEachReplaced(try NormalizedQuery(Query(collectionID: "elsewhere")), QueryMeter()) { _ in }
            #expect(reader.scans == 0)
            var found = 0
            try view.forEachReplaced(try NormalizedQuery(Query(collectionID: "gone")), QueryMeter()) { _ in found += 1 }
            #expect(found == 10)
            #expect(reader.rows == 10)
        }
    }

    @Test func documentsOfOneReadAreFoundInOneScan() async throws {
        try await readGone(remembering: 50) { view, paths, reader in
            let found = try paths.map { try view.document($0) }
            #expect(!found.contains(nil))
            #expect(reader.scans == 1)
            #expect(reader.rows == 10)
            // One that never was is looked for in what isn't remembered alone.
            #expect(try view.document(try DocumentPath("gone/never")) == nil)
            #expect(reader.rows == 10 + 60)
        }
    }

    private struct Everybody: AccessPolicy {
        func check(_ access: Access, in view: AccessView) throws {}
    }

    /// Whether a missing document was there is seen in the log only, which may be long.
    @Test func aClientsSearchOfTheLogIsBounded() async throws {
        var configuration = TestStore.configuration
        configuration.maxRecentChanges = 0
        configuration.clientQueryLimits.entries = 50
        try await withStore(configuration: configuration) { test in
            try await test.set("gone/1", [:])
            let early = try await test.set("other/0", [:]).commitTime
            try await test.commit([Write(path: DocumentPath("gone/1"), operation: .delete)])
            for n in 0..<40 { try await test.set("other/\(n)", [:]) }
            let late = try await test.set("other/0", ["n": .integer(1)]).commitTime
            for n in 0..<40 { try await test.set("other/\(n)", ["n": .integer(2)]) }
            let paths = [try DocumentPath("gone/never")]
            let client = OperationContext(owner: 1, policy: Everybody())
            #expect(try await test.store.get(paths, .at(late), in: client).documents == [nil])
            let error = await #expect(throws: DocumentError.self) {
                try await test.store.get(paths, .at(early), in: client)
            }
            #expect(error?.code == .resourceExhausted)
            #expect(error?.message.contains("read a later state") == true)
            // A function may look as long as it wants.
            #expect(try await test.store.get(paths, .at(early)).documents == [nil])
            #expect(try await get(test, "gone/1", at: early) != nil)
        }
    }

    @Test func aDocumentThatChangedOftenIsFoundInTheLog() async throws {
        try await withStore { test in
            let time = try await test.set("a/b", ["n": .integer(0)]).commitTime
            for n in 1...50 { try await test.set("a/b", ["n": .integer(Int64(n))]) }
            try await test.commit([Write(path: try DocumentPath("a/b"), operation: .delete)])
            for n in 51...53 { try await test.set("a/b", ["n": .integer(Int64(n))]) }
            #expect(try await get(test, "a/b", at: time)?.fields["n"] == .integer(0))
            #expect(try await get(test, "a/b", at: Timestamp(microseconds: time.microseconds - 1)) == nil)
            #expect(try await get(test, "a/c", at: time) == nil)
        }
    }

    @Test func timesThatCantBeReadAreRefused() async throws {
        try await withStore { test in
            let first = try await test.set("a/b", [:]).commitTime
            let future = Timestamp(microseconds: test.clock.timestamp().microseconds + 60_000_000)
            #expect(await refusal { _ = try await get(test, "a/b", at: future) }?.code == .invalidArgument)
            let fine = Timestamp(seconds: first.seconds, nanoseconds: first.nanoseconds + 1)
            let error = await refusal { _ = try await get(test, "a/b", at: fine) }
            #expect(error?.message.contains("whole microseconds") == true)
            let old = Timestamp(microseconds: first.microseconds - 10_000_000)
            let tooOld = await refusal { _ = try await get(test, "a/b", at: old) }
            #expect(tooOld?.code == .failedPrecondition)
            #expect(tooOld?.message.contains("it can be read back to 20") == true)
            #expect(await refusal { _ = try await test.begin(.readOnly(at: future)) }?.code == .invalidArgument)
        }
    }

    /// A state that was read is final, though the clock goes back and the store is opened again.
    @Test(arguments: EngineKind.allCases)
    func nothingHappensBeforeATimeThatWasRead(kind: EngineKind) async throws {
        let directory = try TemporaryDirectory()
        let engine = try kind.make(in: directory)
        let clock = ManualClock()
        let store = try DocumentStore(engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
        try store.start()
        clock.advance(seconds: 10)
        let time = clock.timestamp()
        let answer = try await store.get([DocumentPath("a/b")], .at(time))
        #expect(answer == DocumentsAnswer(documents: [nil], readTime: time))
        await store.shutdown()
        clock.advance(seconds: -5)
        let again = try DocumentStore(engine: engine, now: clock.timestamp, elapsed: clock.elapsed)
        try again.start()
        let write = Write(path: try DocumentPath("a/b"), operation: .set([:]))
        #expect(try await again.commit([write]).result.commitTime > time)
        await again.shutdown()
        try engine.close()
    }

    @Test(arguments: EngineKind.allCases)
    func aReadOnlyTransactionSeesItsTime(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            let time = try await test.set("c/a", ["n": .integer(1)]).commitTime
            try await test.set("c/a", ["n": .integer(2)])
            try await test.set("c/b", ["n": .integer(2)])
            let id = try await test.begin(.readOnly(at: time))
            #expect(try await test.get("c/a", in: id)?.fields["n"] == .integer(1))
            #expect(try await test.query(Query(collectionID: "c"), in: id).map(\.path.id) == ["a"])
        }
    }

    /// More happens than is kept for validation, and the log is deleted only once nothing reads it.
    @Test func aReadOnlyTransactionOutlivesWhatIsForgotten() async throws {
        var configuration = TestStore.configuration
        configuration.maxRecentChanges = 3
        var commits = CommitConfiguration()
        commits.historyRetention = .seconds(1)
        try await withStore(configuration: configuration, commits: commits) { test in
            let time = try await test.set("a/b", ["n": .integer(0)]).commitTime
            let id = try await test.begin(.readOnly(at: nil))
            _ = try await test.get("a/other", in: id)
            for n in 1...20 {
                test.clock.advance(seconds: 2)
                try await test.set("a/b", ["n": .integer(Int64(n))])
            }
            #expect(try await test.get("a/b", in: id)?.fields["n"] == .integer(0))
            try await test.commit([], in: id)
            for n in 21...22 {
                test.clock.advance(seconds: 2)
                try await test.set("a/b", ["n": .integer(Int64(n))])
            }
            #expect(await refusal { _ = try await get(test, "a/b", at: time) }?.code == .failedPrecondition)
        }
    }
}
