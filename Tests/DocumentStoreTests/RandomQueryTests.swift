import DocumentModel
@testable import DocumentStore
import Testing

/// Random queries, answered by the store and by looking at every document.
struct RandomQueryTests {
    private static let fields = ["a", "b", "m.x"].map { FieldPath(segments: $0.split(separator: ".").map(String.init)) }

    private func value(_ generator: inout SeededGenerator) -> Value {
        switch Int.random(in: 0..<8, using: &generator) {
        case 0: .null
        case 1: .double([Double.nan, 0.5, 1, 2].randomElement(using: &generator) ?? 0)
        case 2: .string(["", "a", "b"].randomElement(using: &generator) ?? "")
        case 3: .array((0..<Int.random(in: 0...2, using: &generator)).map { .integer(Int64($0)) })
        case 4: .string(String(repeating: "y", count: 1600) + (["p", "q"].randomElement(using: &generator) ?? ""))
        default: .integer(.random(in: 0...3, using: &generator))
        }
    }

    private func leaf(_ generator: inout SeededGenerator) -> Query.Filter {
        let field = Self.fields.randomElement(using: &generator) ?? .documentID
        switch Int.random(in: 0..<12, using: &generator) {
        case 0: return .unary(field, Query.UnaryOperator.allCases.randomElement(using: &generator) ?? .isNull)
        case 1: return .field(field, .in, .array((0..<2).map { _ in value(&generator) }))
        case 2: return .field(field, .arrayContains, .integer(.random(in: 0...2, using: &generator)))
        case 3:
            return .field(
                .documentID,
                [.equal, .lessThan, .greaterThanOrEqual, .notEqual]
                    .randomElement(using: &generator) ?? .equal,
                .string("d\(Int.random(in: 10..<40, using: &generator))"))
        default:
            let comparison: Query.Operator =
                [
                    .equal, .equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual,
                ].randomElement(using: &generator) ?? .equal
            return .field(field, comparison, value(&generator))
        }
    }

    private func query(_ generator: inout SeededGenerator) -> Query {
        var query = Query(collectionID: "c")
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: break
        case 1, 2: query.filter = leaf(&generator)
        case 3: query.filter = .and([leaf(&generator), leaf(&generator)])
        default: query.filter = .or([leaf(&generator), .and([leaf(&generator), leaf(&generator)])])
        }
        var candidates = (Self.fields + [.documentID]).shuffled(using: &generator)
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
            query.orderBy.append(Query.Order(candidates.removeLast(), descending: .random(using: &generator)))
        }
        if Bool.random(using: &generator) { query.limit = .random(in: 0...8, using: &generator) }
        if Int.random(in: 0..<4, using: &generator) == 0 { query.offset = .random(in: 0...4, using: &generator) }
        if let first = query.orderBy.first {
            let place = first.field.isDocumentID ? Value.string("d20") : value(&generator)
            if Int.random(in: 0..<3, using: &generator) == 0 {
                query.start = Query.Cursor(values: [place], before: .random(using: &generator))
            }
            if Int.random(in: 0..<3, using: &generator) == 0 {
                query.end = Query.Cursor(values: [place], before: .random(using: &generator))
            }
        }
        return query
    }

    @Test(arguments: EngineKind.allCases)
    func storeAndModelAgree(kind: EngineKind) async throws {
        let test = try TestStore(kind)
        var generator = SeededGenerator(seed: 99)
        var model: [DocumentPath: Document] = [:]
        for round in 0..<4 {
            var writes: [Write] = []
            for i in 10..<40 {
                let path = try DocumentPath("c/d\(i)")
                if Int.random(in: 0..<5, using: &generator) == 0 {
                    writes.append(Write(path: path, operation: .delete))
                    model[path] = nil
                    continue
                }
                var fields: [String: Value] = ["m": .map(["x": value(&generator)])]
                if Int.random(in: 0..<6, using: &generator) > 0 { fields["a"] = value(&generator) }
                if Int.random(in: 0..<6, using: &generator) > 0 { fields["b"] = value(&generator) }
                writes.append(Write(path: path, operation: .set(fields)))
                let zero = Timestamp(microseconds: 0)
                model[path] = Document(path: path, fields: fields, createTime: zero, updateTime: zero)
            }
            try await test.commit(writes)
            for _ in 0..<400 {
                let query = query(&generator)
                guard let normalized = try? NormalizedQuery(query) else { continue }
                let expected = model.values.map(normalized.place).filter {
                    normalized.matches($0.document) && normalized.isBetweenCursors($0)
                }.sorted { normalized.compare($0, $1) == .ascending }
                    .dropFirst(query.offset).prefix(query.limit ?? .max).map(\.document.path)
                let found = try await test.query(query).map(\.path)
                #expect(found == Array(expected), "round \(round): \(query)")
            }
        }
        try await test.commit(model.keys.map { Write(path: $0, operation: .delete) })
        try test.store.engine.makeReadSession().read { reader in
            for table in [StorageTable.documents, .index] {
                try reader.scan(table, KeyRange(lower: [], upper: nil), reverse: false) { key, _ in
                    Issue.record("left over in \(table): \(key)")
                    return false
                }
            }
        }
        await test.store.shutdown()
    }
}
