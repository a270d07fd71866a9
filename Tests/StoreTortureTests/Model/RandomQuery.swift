import DocumentModel
import DocumentStore
import TestSupport

/// Random documents, values and queries, from few enough that they meet.
struct RandomParts {
    var generator: SeededGenerator

    static let fields = ["a", "b", "n", "t", "m.x", "m.y"].map {
        FieldPath(segments: $0.split(separator: ".").map(String.init))
    }
    static let parents = [nil, "p/x", "p/y", "c/d1", "p/x/q/z"].map { $0.flatMap { try? DocumentPath($0) } }
    private static let database = DatabaseID(project: "demo")

    mutating func path() -> DocumentPath {
        let id = "d\(Int.random(in: 0...6, using: &generator))"
        let collection = generator.pick(["c", "c", "c", "d", "p/x/c", "p/y/c", "c/d1/c", "p/x/q/z/c"])
        guard let path = try? DocumentPath("\(collection)/\(id)") else { preconditionFailure("\(collection)/\(id)") }
        return path
    }

    mutating func scalar() -> Value {
        switch Int.random(in: 0..<14, using: &generator) {
        case 0: return .null
        case 1: return .boolean(.random(using: &generator))
        case 2: return .double(generator.pick([.nan, 0.5, 1, 2, -0.0, .infinity, 0x1p53, 0x1p63, -1.5]))
        case 3: return .string(generator.pick(["", "a", "ab", "b", "é", "a\u{0}b", "😀", "\u{FFFF}"]))
        case 4: return .timestamp(Timestamp(microseconds: .random(in: 0...3, using: &generator)))
        case 5: return .bytes(generator.pick([[], [0], [0, 1], [255]]))
        case 6: return .reference(DocumentName(database: Self.database, path: path()))
        case 7: return .geoPoint(GeoPoint(latitude: generator.pick([0, 1]), longitude: generator.pick([0, 1])))
        case 8: return .integer(generator.pick([.max, .min, 1 << 53, (1 << 53) + 1]))
        case 9: return .string(String(repeating: "y", count: 1600) + generator.pick(["", "p", "q"]))
        default: return .integer(.random(in: 0...3, using: &generator))
        }
    }

    mutating func value() -> Value {
        switch Int.random(in: 0..<10, using: &generator) {
        case 0: .array((0..<Int.random(in: 0...3, using: &generator)).map { _ in scalar() })
        case 1: .map([generator.pick(["x", "y"]): scalar()])
        case 2: .map(["__type__": .string("__vector__"), "value": .array([.double(generator.pick([0, 1]))])])
        default: scalar()
        }
    }

    mutating func tags() -> Value {
        .array(
            (0..<Int.random(in: 0...3, using: &generator)).map { _ in .integer(.random(in: 0...3, using: &generator)) })
    }

    mutating func fields() -> [String: Value] {
        var fields: [String: Value] = [:]
        if !generator.once(in: 5) { fields["a"] = value() }
        if !generator.once(in: 5) { fields["b"] = generator.once(in: 2) ? .integer(1) : scalar() }
        if !generator.once(in: 5) { fields["n"] = .integer(.random(in: 0...5, using: &generator)) }
        if !generator.once(in: 4) { fields["t"] = generator.once(in: 8) ? value() : tags() }
        if !generator.once(in: 4) { fields["m"] = .map(["x": value(), "y": scalar()]) }
        return fields
    }

    mutating func query() -> Query {
        let isGroup = generator.once(in: 4)
        var query = Query(
            parent: generator.once(in: 3) ? generator.pick(Self.parents) : nil,
            collectionID: generator.once(in: 6) ? "d" : "c", allDescendants: isGroup)
        var negations = 1
        switch Int.random(in: 0..<7, using: &generator) {
        case 0: break
        case 1, 2: query.filter = leaf(query, &negations)
        case 3, 4: query.filter = .and([leaf(query, &negations), leaf(query, &negations)])
        case 5:
            query.filter = .and([leaf(query, &negations), leaf(query, &negations), leaf(query, &negations)])
        default:
            query.filter = .or([
                leaf(query, &negations), .and([leaf(query, &negations), leaf(query, &negations)]),
            ])
        }
        if contains(query.filter) > 1 || query.filter.map(isExcluded) ?? false { query.filter = nil }
        var candidates = (Self.fields + [.documentID]).shuffled(using: &generator)
        for _ in 0..<Int.random(in: 0...2, using: &generator) {
            query.orderBy.append(Query.Order(candidates.removeLast(), descending: .random(using: &generator)))
        }
        // Behind a name there is nothing left to order, which a range of another field would have to.
        let names = query.orderBy.firstIndex { $0.field.isDocumentID }
        if let names, names + 1 < query.orderBy.count || hasRange(query.filter) { query.orderBy.remove(at: names) }
        if generator.once(in: 2) { query.limit = .random(in: 0...6, using: &generator) }
        if generator.once(in: 4) { query.offset = .random(in: 0...4, using: &generator) }
        if generator.once(in: 3) { query.start = cursor(query) }
        if generator.once(in: 3) { query.end = cursor(query) }
        if generator.once(in: 6) {
            query.projection = generator.pick([[.documentID], [Self.fields[0], Self.fields[4]]])
        }
        return query
    }

    /// All documents of a collection group by their names.
    mutating func whole() -> Query {
        var query = Query(
            parent: generator.once(in: 3) ? generator.pick(Self.parents) : nil, collectionID: "c", allDescendants: true)
        query.orderBy = [Query.Order(.documentID)]
        return query
    }

    mutating func aggregation() -> [AggregateField] {
        let all: [AggregateField] = [
            .count(upTo: nil), .count(upTo: 3), .sum(Self.fields[0]), .sum(Self.fields[2]), .average(Self.fields[2]),
            .average(Self.fields[1]), .sum(Self.fields[4]),
        ]
        return Array(all.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)))
    }

    private mutating func cursor(_ query: Query) -> Query.Cursor? {
        guard !query.orderBy.isEmpty else { return nil }
        let values = query.orderBy.prefix(Int.random(in: 1...2, using: &generator)).map { order in
            order.field.isDocumentID ? name(query) : value()
        }
        return Query.Cursor(values: Array(values), before: .random(using: &generator))
    }

    private mutating func name(_ query: Query) -> Value {
        if query.allDescendants || generator.once(in: 2) {
            return .reference(DocumentName(database: Self.database, path: path()))
        }
        return .string("d\(Int.random(in: 0...6, using: &generator))")
    }

    private func contains(_ filter: Query.Filter?) -> Int {
        switch filter {
        case .and(let parts), .or(let parts): parts.reduce(0) { $0 + contains($1) }
        case .field(_, .arrayContains, _), .field(_, .arrayContainsAny, _): 1
        default: 0
        }
    }

    private func hasRange(_ filter: Query.Filter?) -> Bool {
        switch filter {
        case nil: return false
        case .and(let parts), .or(let parts): return parts.contains(where: hasRange)
        case .field(let field, let comparison, _):
            let equalities: [Query.Operator] = [.equal, .in, .arrayContains, .arrayContainsAny]
            return !field.isDocumentID && !equalities.contains(comparison)
        case .unary(_, let test): return test == .isNotNull || test == .isNotNaN
        }
    }

    /// Whether there is a `not-in` beside a disjunction, which no query may have.
    private func isExcluded(_ filter: Query.Filter) -> Bool {
        let all = operators(filter)
        return all.contains(.notIn) && (all.contains(.in) || all.contains(.arrayContainsAny) || isDisjunction(filter))
    }

    private func isDisjunction(_ filter: Query.Filter) -> Bool { if case .or = filter { true } else { false } }

    private func operators(_ filter: Query.Filter) -> [Query.Operator] {
        switch filter {
        case .and(let parts), .or(let parts): parts.flatMap(operators)
        case .field(_, let comparison, _): [comparison]
        case .unary: []
        }
    }

    private mutating func leaf(_ query: Query, _ negations: inout Int) -> Query.Filter {
        let field = generator.pick(Self.fields)
        switch Int.random(in: 0..<14, using: &generator) {
        case 0:
            let test = generator.pick(Query.UnaryOperator.allCases)
            guard test == .isNotNull || test == .isNotNaN else { return .unary(field, test) }
            guard negations > 0 else { return .unary(field, .isNull) }
            negations -= 1
            return .unary(field, test)
        case 1: return .field(field, .in, .array((0..<2).map { _ in scalar() }))
        case 2: return .field(Self.fields[3], .arrayContains, .integer(.random(in: 0...3, using: &generator)))
        case 3: return .field(Self.fields[3], .arrayContainsAny, .array([.integer(0), scalar()]))
        case 4, 5:
            guard negations > 0 else { return .field(field, .equal, scalar()) }
            negations -= 1
            return generator.once(in: 2)
                ? .field(field, .notEqual, value()) : .field(field, .notIn, .array([scalar(), .integer(1)]))
        case 6:
            let tests: [Query.Operator] = [.equal, .lessThan, .greaterThanOrEqual]
            return .field(.documentID, generator.pick(tests), name(query))
        case 7...9: return .field(field, .equal, generator.once(in: 3) ? value() : .integer(1))
        default:
            let tests: [Query.Operator] = [.lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual]
            return .field(field, generator.pick(tests), generator.once(in: 2) ? value() : .integer(2))
        }
    }

    /// Indexes of several fields, such as fit the queries, and fields without their own.
    mutating func configuration() -> IndexConfiguration {
        var indexes: [IndexDefinition] = []
        for _ in 0..<Int.random(in: 0...4, using: &generator) {
            var fields = Self.fields.shuffled(using: &generator).prefix(Int.random(in: 1...3, using: &generator)).map {
                IndexDefinition.Field($0, generator.once(in: 2) ? .ascending : .descending)
            }
            if generator.once(in: 3) { fields[0].kind = .contains }
            let scope: IndexDefinition.Scope =
                generator.once(in: 2) || fields.count == 1 ? .collectionGroup : .collection
            let index = IndexDefinition(collectionID: generator.once(in: 5) ? "d" : "c", scope: scope, fields: fields)
            if !indexes.contains(index) { indexes.append(index) }
        }
        let exemptions = ([nil] + Self.fields + [FieldPath(segments: ["m"])]).filter { _ in generator.once(in: 8) }.map
        {
            FieldExemption(
                collectionID: "c", field: $0, isOrdered: generator.once(in: 2), hasElements: generator.once(in: 2))
        }
        return IndexConfiguration(indexes: indexes, exemptions: exemptions)
    }
}
