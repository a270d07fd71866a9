import TestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport

/// Random queries over a few fields, and the indexes that may serve them.
struct RandomQueries {
    static let fields = ["a", "b", "m.x", "t"].map { FieldPath(segments: $0.split(separator: ".").map(String.init)) }
    /// Where documents are: a root collection, and others of its id below documents.
    static let collections = ["c", "p/x/c", "p/y/c", "c/d10/c"]

    var generator: SeededGenerator

    mutating func value() -> Value {
        switch Int.random(in: 0..<9, using: &generator) {
        case 0: .null
        case 1: .double([Double.nan, 0.5, 1, 2, -3].randomElement(using: &generator) ?? 0)
        case 2: .string(["", "a", "b"].randomElement(using: &generator) ?? "")
        case 3: list()
        case 4: .string(String(repeating: "y", count: 1600) + (["p", "q"].randomElement(using: &generator) ?? ""))
        default: .integer(.random(in: 0...3, using: &generator))
        }
    }

    private mutating func list() -> Value {
        .array(
            (0..<Int.random(in: 0...2, using: &generator)).map {
                Bool.random(using: &generator) ? .integer(Int64($0)) : .double(1)
            })
    }

    mutating func document() -> [String: Value] {
        var fields: [String: Value] = ["m": .map(["x": value()])]
        if Int.random(in: 0..<6, using: &generator) > 0 { fields["a"] = value() }
        if Int.random(in: 0..<6, using: &generator) > 0 { fields["b"] = value() }
        if Int.random(in: 0..<3, using: &generator) > 0 { fields["t"] = list() }
        return fields
    }

    mutating func query() -> Query {
        var query = Query(collectionID: "c")
        switch Int.random(in: 0..<6, using: &generator) {
        case 0: query.allDescendants = true
        case 1:
            query.allDescendants = true
            query.parent = try? DocumentPath(["p/x", "c/d10"].randomElement(using: &generator) ?? "p/x")
        case 2: query.parent = try? DocumentPath("p/x")
        default: break
        }
        let isGroup = query.allDescendants
        switch Int.random(in: 0..<7, using: &generator) {
        case 0: break
        case 1, 2: query.filter = leaf(isGroup)
        case 3, 4: query.filter = .and((0..<Int.random(in: 2...4, using: &generator)).map { _ in leaf(isGroup) })
        case 5: query.filter = .or([leaf(isGroup), leaf(isGroup)])
        default: query.filter = .or([leaf(isGroup), .and([leaf(isGroup), leaf(isGroup)])])
        }
        var candidates = (Self.fields + [.documentID]).shuffled(using: &generator)
        for _ in 0..<Int.random(in: 0...3, using: &generator) {
            query.orderBy.append(Query.Order(candidates.removeLast(), descending: .random(using: &generator)))
        }
        if Bool.random(using: &generator) { query.limit = .random(in: 0...8, using: &generator) }
        if Int.random(in: 0..<4, using: &generator) == 0 { query.offset = .random(in: 0...4, using: &generator) }
        query.start = cursor(query)
        query.end = cursor(query)
        if Int.random(in: 0..<3, using: &generator) == 0 {
            let selected = (Self.fields + [.documentID]).shuffled(using: &generator)
            query.projection = Array(selected.prefix(.random(in: 1...3, using: &generator)))
        }
        return query
    }

    private mutating func cursor(_ query: Query) -> Query.Cursor? {
        guard !query.orderBy.isEmpty, Int.random(in: 0..<3, using: &generator) == 0 else { return nil }
        let count = Int.random(in: 1...query.orderBy.count, using: &generator)
        let values = query.orderBy[..<count].map { order in
            order.field.isDocumentID ? name(query.allDescendants) : value()
        }
        return Query.Cursor(values: values, before: .random(using: &generator))
    }

    private mutating func name(_ isGroup: Bool) -> Value {
        let id = "d\(Int.random(in: 10..<40, using: &generator))"
        guard isGroup else { return .string(id) }
        return .string((Self.collections.randomElement(using: &generator) ?? "c") + "/" + id)
    }

    private mutating func leaf(_ isGroup: Bool) -> Query.Filter {
        let field = Self.fields.randomElement(using: &generator) ?? .documentID
        switch Int.random(in: 0..<14, using: &generator) {
        case 0: return .unary(field, Query.UnaryOperator.allCases.randomElement(using: &generator) ?? .isNull)
        case 1: return .field(field, .in, .array((0..<2).map { _ in value() }))
        case 2, 3:
            return .field(FieldPath(segments: ["t"]), .arrayContains, .integer(.random(in: 0...2, using: &generator)))
        case 4: return .field(field, .notIn, .array((0..<2).map { _ in value() }))
        case 5:
            return .field(
                .documentID,
                [.equal, .lessThan, .greaterThanOrEqual, .greaterThan, .notEqual]
                    .randomElement(using: &generator) ?? .equal, name(isGroup))
        default:
            let comparison: Query.Operator =
                [
                    .equal, .equal, .equal, .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual, .notEqual,
                ].randomElement(using: &generator) ?? .equal
            return .field(field, comparison, value())
        }
    }

    mutating func aggregation() -> [AggregateField] {
        let fields = Self.fields
        let all: [AggregateField] = [
            .count(upTo: nil), .count(upTo: 3), .sum(fields[0]), .average(fields[1]), .sum(fields[2]),
            .average(fields[0]),
        ]
        return Array(all.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)))
    }

    mutating func indexes() -> IndexConfiguration {
        let (a, b, x, t) = (Self.fields[0], Self.fields[1], Self.fields[2], Self.fields[3])
        func index(_ fields: (FieldPath, IndexDefinition.Kind)...) -> [IndexDefinition.Field] {
            fields.map { IndexDefinition.Field($0.0, $0.1) }
        }
        let all = [
            index((a, .ascending), (b, .ascending)), index((a, .ascending), (b, .descending)),
            index((b, .descending), (a, .descending)), index((t, .contains), (a, .ascending)),
            index((a, .descending), (t, .contains), (b, .descending)),
            index((a, .ascending), (b, .ascending), (x, .descending)),
            index((b, .ascending), (x, .ascending)), index((x, .descending), (a, .ascending), (b, .ascending)),
        ]
        var configuration = IndexConfiguration()
        for fields in all {
            if Int.random(in: 0..<2, using: &generator) == 0 {
                configuration.indexes.append(IndexDefinition(collectionID: "c", fields: fields))
            }
            if Int.random(in: 0..<3, using: &generator) == 0 {
                configuration.indexes.append(
                    IndexDefinition(collectionID: "c", scope: .collectionGroup, fields: fields))
            }
        }
        for (field, kind) in [(a, IndexDefinition.Kind.ascending), (b, .descending), (t, .contains)]
        where Bool.random(using: &generator) {
            configuration.indexes.append(
                IndexDefinition(
                    collectionID: "c", scope: .collectionGroup, fields: [IndexDefinition.Field(field, kind)]))
        }
        for field in Self.fields where Int.random(in: 0..<4, using: &generator) == 0 {
            configuration.exemptions.append(
                FieldExemption(
                    collectionID: "c", field: field, isOrdered: .random(using: &generator), hasElements: false))
        }
        return configuration
    }
}

/// Answers queries by looking at every document.
struct NaiveStore {
    var documents: [DocumentPath: Document] = [:]

    func query(_ query: NormalizedQuery) -> [Document] {
        Array(
            documents.values.map(query.place).filter {
                query.matches($0.document) && query.isBetweenCursors($0)
            }.sorted { query.compare($0, $1) == .ascending }
                .dropFirst(query.query.offset).prefix(query.query.limit ?? .max).map(\.document))
    }

    func aggregate(_ query: Query, _ fields: [AggregateField]) throws -> [Value] {
        let found = self.query(try NormalizedQuery(query, required: fields.compactMap(\.field)))
        return fields.map { field in
            let values = field.field.map { field in found.compactMap { $0[field] } } ?? []
            let numbers = values.compactMap { value in
                switch value {
                case .integer(let number): Double(number)
                case .double(let number): number
                default: nil
                }
            }
            let sum = numbers.reduce(0, +)
            switch field {
            case .count(let bound): return .integer(Int64(min(found.count, bound ?? .max)))
            case .sum:
                let isWhole = values.allSatisfy { if case .double = $0 { false } else { true } }
                return isWhole ? .integer(Int64(sum)) : .double(sum)
            case .average: return numbers.isEmpty ? .null : .double(sum / Double(numbers.count))
            }
        }
    }
}
