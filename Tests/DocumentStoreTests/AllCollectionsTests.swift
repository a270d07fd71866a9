import DocumentModel
@testable import DocumentStore
import StorageEngine
import StoreTestSupport
import TestSupport
import Testing

/// Queries over all collections, answered by the store and by sorting every path.
struct AllCollectionsTests {
    /// Ids whose order as bytes of keys differs easily from that of paths.
    private static let ids = ["a", "a\u{0}", "a\u{1}", "ab", "b", "é", "z"]

    private static let numericIDs = ["__id7__", "__id-2__", "__id12__", "__id_"]

    private func path(_ random: inout SeededGenerator, above depth: Int) throws -> DocumentPath {
        let segments = (0..<2 * Int.random(in: 1...depth, using: &random)).map { index in
            let ids = index % 2 == 0 ? Self.ids : Self.ids + Self.numericIDs
            return ids.randomElement(using: &random) ?? "a"
        }
        return try DocumentPath(segments.joined(separator: "/"))
    }

    @Test(arguments: EngineKind.allCases, 1...4 as ClosedRange<UInt64>)
    func everyPathIsFoundInOrder(kind: EngineKind, seed: UInt64) async throws {
        try await withStore(kind) { test in
            var random = SeededGenerator(seed: seed)
            var paths: Set<DocumentPath> = []
            for _ in 0..<80 { paths.insert(try path(&random, above: 3)) }
            let written = try await test.commit(paths.map { Write(path: $0, operation: .set(["n": .integer(1)])) })
                .commitTime
            let sorted = paths.sorted { DocumentPath.compare($0, $1) == .ascending }
            for round in 0..<60 {
                let parent = round % 3 == 0 ? nil : try path(&random, above: 2)
                var query = Query(parent: parent, collectionID: "", allDescendants: true)
                query.orderBy = [Query.Order(.documentID)]
                var expected = sorted.filter { path in
                    parent.map { path.string.utf8.starts(with: ($0.string + "/").utf8) } ?? true
                }
                let (low, high) = (try path(&random, above: 3), try path(&random, above: 3))
                let database = DatabaseID(project: "demo-shop")
                func name(_ path: DocumentPath) -> Value { .reference(DocumentName(database: database, path: path)) }
                if Bool.random(using: &random) {
                    query.start = Query.Cursor(values: [name(low)], before: Bool.random(using: &random))
                    let isIn = query.start?.before ?? false
                    expected.removeAll { $0 == low ? !isIn : DocumentPath.compare($0, low) == .ascending }
                }
                if Bool.random(using: &random) {
                    query.filter = .and([
                        .field(.documentID, .lessThan, name(high)), .field(.documentID, .notEqual, name(low)),
                    ])
                    expected.removeAll { $0 == low || DocumentPath.compare($0, high) != .ascending }
                }
                query.offset = Int.random(in: 0...2, using: &random)
                query.limit = Bool.random(using: &random) ? 5 : nil
                // The past is seen as it was.
                let isPast = round % 4 == 1
                let consistency = isPast ? ReadConsistency.at(written) : .strong
                if isPast {
                    let other = try path(&random, above: 3)
                    if sorted.contains(other) {
                        try await test.commit([Write(path: other, operation: .delete)])
                        try await check(query, consistency, expected, test, "seed \(seed)")
                        try await test.set(other.string, ["n": .integer(1)])
                    } else {
                        try await test.set(other.string, ["n": .integer(1)])
                        try await check(query, consistency, expected, test, "seed \(seed)")
                        try await test.commit([Write(path: other, operation: .delete)])
                    }
                }
                try await check(query, .strong, expected, test, "seed \(seed)")
            }
        }
    }

    private func check(
        _ query: Query, _ consistency: ReadConsistency, _ all: [DocumentPath], _ test: TestStore, _ hint: Comment
    ) async throws {
        let found = try await test.store.query(query, consistency).documents.map(\.path)
        #expect(found == Array(all.dropFirst(query.offset).prefix(query.limit ?? .max)), hint)
    }

    /// A large collection elsewhere costs nothing.
    @Test func whatLiesElsewhereIsNotRead() async throws {
        let directory = try TemporaryDirectory()
        let engine = try EngineKind.memory.make(in: directory)
        try await withStore(engine: engine) { test in
            for collection in ["a", "z"] {
                let writes = try (0..<400).map { i in
                    Write(path: try DocumentPath("\(collection)/\(i)"), operation: .set([:]))
                }
                try await test.commit(writes)
            }
            try await test.set("top/x/sub/1", [:])
            let query = Query(parent: try DocumentPath("top/x"), collectionID: "", allDescendants: true)
            let counted = CountingEngine(engine, limit: 20)
            let found = try counted.makeReadSession().read { storage in
                try AllCollectionsQuery(query).run(
                    in: DocumentView(storage), within: ReadBudget(.max), QueryMeter()
                ).map(\.path.string)
            }
            #expect(found == ["top/x/sub/1"])
        }
    }

    @Test func fieldsTransactionsAndClientsAreRefused() async throws {
        struct Everything: AccessPolicy {
            func check(_ access: Access, in view: AccessView) throws {}
        }
        try await withStore { test in
            var query = Query(collectionID: "", allDescendants: true)
            let client = OperationContext(owner: 7, policy: Everything())
            await #expect(throws: DocumentError(.permissionDenied, "Missing or insufficient permissions.")) {
                try await test.query(query, context: client)
            }
            let transaction = try await test.begin()
            await #expect(throws: DocumentError.self) { try await test.query(query, in: transaction) }
            query.filter = .field(try FieldPath("n"), .equal, .integer(1))
            let error = await #expect(throws: DocumentError.self) { try await test.query(query) }
            #expect(error?.message.contains("n needs a collection") ?? false)
        }
    }
}
