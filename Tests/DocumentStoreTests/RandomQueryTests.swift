import TestSupport
import StoreTestSupport
import StorageEngine
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

/// Random queries and aggregations, answered by the store and by looking at every document.
struct RandomQueryTests {
    private static let rounds = 6
    private static let queries = 100

    private func writes(_ random: inout RandomQueries, _ model: inout NaiveStore) throws -> [Write] {
        var writes: [Write] = []
        for collection in RandomQueries.collections {
            for i in 10..<(collection == "c" ? 40 : 18) {
                let path = try DocumentPath(collection + "/d\(i)")
                if Int.random(in: 0..<5, using: &random.generator) == 0 {
                    writes.append(Write(path: path, operation: .delete))
                    model.documents[path] = nil
                    continue
                }
                let fields = random.document()
                writes.append(Write(path: path, operation: .set(fields)))
                let zero = Timestamp(microseconds: 0)
                model.documents[path] = Document(path: path, fields: fields, createTime: zero, updateTime: zero)
            }
        }
        return writes
    }

    @Test(arguments: EngineKind.allCases, [1 as UInt64, 99])
    func storeAndModelAgree(kind: EngineKind, seed: UInt64) async throws {
        try await withStore(kind) { test in
            var random = RandomQueries(generator: SeededGenerator(seed: seed))
            var states: [(model: NaiveStore, time: Timestamp)] = []
            var model = NaiveStore()
            for round in 0..<Self.rounds {
                let indexes = round == 0 ? IndexConfiguration() : random.indexes()
                try await test.store.configureIndexes(indexes)
                let time = try await test.commit(try writes(&random, &model)).commitTime
                states.append((model, time))
                // Queries are answered while indexes are being built, too.
                if round % 2 == 0 { try await test.store.indexesAreDone() }
                for _ in 0..<Self.queries {
                    let query = random.query()
                    guard let normalized = try? NormalizedQuery(query) else { continue }
                    var (seen, consistency) = (model, ReadConsistency.strong)
                    if Int.random(in: 0..<4, using: &random.generator) == 0,
                        let state = states.randomElement(using: &random.generator)
                    {
                        (seen, consistency) = (state.model, .at(state.time))
                    }
                    let hint = Comment("round \(round), \(consistency): \(query) with \(indexes)")
                    let found = try await test.query(query, consistency)
                    let expected = seen.query(normalized).map(normalized.project)
                    #expect(found.map(\.path) == expected.map(\.path), hint)
                    #expect(found.map(\.fields) == expected.map(\.fields), hint)
                    let fields = random.aggregation()
                    let numbers = try await test.aggregate(query, fields, consistency)
                    #expect(numbers == (try seen.aggregate(query, fields)), "\(fields) of \(hint)")
                }
            }
            try await test.store.configureIndexes(IndexConfiguration())
            try await test.store.indexesAreDone()
            try await test.commit(model.documents.keys.map { Write(path: $0, operation: .delete) })
            try test.store.engine.makeReadSession().read { reader in
                for table in [StorageTable.documents, .index] {
                    try reader.scan(table, .all, reverse: false) { key, _ in
                        Issue.record("left over in \(table): \(key)")
                        return false
                    }
                }
            }
        }
    }
}

extension TestStore {
    func query(_ query: Query, _ consistency: ReadConsistency) async throws -> [Document] {
        try await store.query(query, consistency).documents
    }

    func aggregate(
        _ query: Query, _ fields: [AggregateField], _ consistency: ReadConsistency = .strong,
        context: OperationContext = OperationContext()
    ) async throws -> [Value] {
        try await store.aggregate(query, fields, consistency, in: context).values
    }

    func explain(
        _ query: Query, _ fields: [AggregateField] = [], analyze: Bool = true
    ) async throws -> (explanation: QueryExplanation, results: [Document], values: [Value]) {
        let answer = try await store.explain(query, fields, analyze: analyze)
        return (answer.explanation, answer.documents, answer.values)
    }

    func partition(_ query: Query, points: Int, _ consistency: ReadConsistency = .strong) async throws -> [DocumentPath]
    {
        try await store.partition(query, points: points, consistency).points
    }
}
