import DocumentModel
import FirestoreMessages
import SwiftProtobuf

extension MessageReader {
    /// A query and the `find_nearest` in it.
    func search(
        _ message: FSStructuredQuery, parent: DocumentPath?
    ) throws(DocumentError) -> (query: Query, nearest: VectorSearch?) {
        guard message.hasFindNearest else { return (try query(message, parent: parent), nil) }
        var plain = message
        plain.clearFindNearest()
        let query = try query(plain, parent: parent)
        let search = message.findNearest
        guard let measure = Self.measures[search.distanceMeasure] else {
            throw .invalidArgument("find_nearest needs its distance_measure")
        }
        guard search.hasQueryVector else { throw .invalidArgument("find_nearest needs its query_vector") }
        let nearest = try VectorSearch(
            field: try Self.fieldPath(search.vectorField.fieldPath), vector: try value(search.queryVector),
            measure: measure, limit: Int(search.limit.value),
            resultField: search.distanceResultField.isEmpty ? nil : search.distanceResultField,
            threshold: search.hasDistanceThreshold ? search.distanceThreshold.value : nil)
        return (query, nearest)
    }

    private static let measures: [FSStructuredQuery.FindNearest.DistanceMeasure: VectorSearch.Measure] = [
        .euclidean: .euclidean, .cosine: .cosine, .dotProduct: .dotProduct,
    ]

    func query(_ message: FSStructuredQuery, parent: DocumentPath?) throws(DocumentError) -> Query {
        guard !message.hasFindNearest else { throw .invalidArgument("find_nearest is only possible with RunQuery") }
        guard let from = message.from.first, message.from.count == 1 else {
            throw .invalidArgument("a query is on one collection, not \(message.from.count)")
        }
        if from.collectionID.isEmpty {
            guard from.allDescendants else {
                throw .invalidArgument(
                    "a collection needs its collection_id; all_descendants alone stands for all collections")
            }
        } else {
            guard try CollectionPath(from.collectionID).parent == nil else {
                throw .invalidArgument("a collection id must not contain a slash")
            }
        }
        var query = Query(parent: parent, collectionID: from.collectionID, allDescendants: from.allDescendants)
        if message.hasWhere { query.filter = try filter(message.where) }
        for order in message.orderBy {
            if case .UNRECOGNIZED(let number) = order.direction {
                throw .invalidArgument("\(number) is neither ASCENDING nor DESCENDING")
            }
            query.orderBy.append(
                Query.Order(try Self.fieldPath(order.field.fieldPath), descending: order.direction == .descending))
        }
        if message.hasStartAt { query.start = try cursor(message.startAt) }
        if message.hasEndAt { query.end = try cursor(message.endAt) }
        guard message.offset >= 0, message.limit.value >= 0 else {
            throw .invalidArgument("offset and limit must not be negative")
        }
        query.offset = Int(message.offset)
        if message.hasLimit { query.limit = Int(message.limit.value) }
        if message.hasSelect, !message.select.fields.isEmpty {
            var fields: [FieldPath] = []
            for field in message.select.fields { fields.append(try Self.fieldPath(field.fieldPath)) }
            query.projection = fields
        }
        return query
    }

    private func cursor(_ message: FSCursor) throws(DocumentError) -> Query.Cursor {
        Query.Cursor(values: try values(message.values), before: message.before)
    }

    private func filter(_ message: FSStructuredQuery.Filter) throws(DocumentError) -> Query.Filter {
        switch message.filterType {
        case .compositeFilter(let composite)?:
            var filters: [Query.Filter] = []
            for part in composite.filters { filters.append(try filter(part)) }
            guard !filters.isEmpty else { throw .invalidArgument("a composite filter has no filters") }
            switch composite.op {
            case .and: return .and(filters)
            case .or: return .or(filters)
            default: throw .invalidArgument("a composite filter has neither AND nor OR")
            }
        case .fieldFilter(let field)?:
            guard let comparison = Self.comparisons[field.op] else {
                throw .invalidArgument("a field filter has no operator")
            }
            return .field(try Self.fieldPath(field.field.fieldPath), comparison, try value(field.value))
        case .unaryFilter(let unary)?:
            guard let test = Self.tests[unary.op] else { throw .invalidArgument("a unary filter has no operator") }
            return .unary(try Self.fieldPath(unary.field.fieldPath), test)
        case nil: throw .invalidArgument("a filter is empty")
        }
    }

    private static let comparisons: [FSStructuredQuery.FieldFilter.Operator: Query.Operator] = [
        .lessThan: .lessThan, .lessThanOrEqual: .lessThanOrEqual, .greaterThan: .greaterThan,
        .greaterThanOrEqual: .greaterThanOrEqual, .equal: .equal, .notEqual: .notEqual,
        .arrayContains: .arrayContains, .in: .in, .arrayContainsAny: .arrayContainsAny, .notIn: .notIn,
    ]

    private static let tests: [FSStructuredQuery.UnaryFilter.Operator: Query.UnaryOperator] = [
        .isNan: .isNaN, .isNull: .isNull, .isNotNan: .isNotNaN, .isNotNull: .isNotNull,
    ]

    func aggregation(
        _ message: FSStructuredAggregationQuery, parent: DocumentPath?
    ) throws(DocumentError) -> (query: Query, fields: [AggregateField], aliases: [String]) {
        guard case .structuredQuery(let structured)? = message.queryType else {
            throw .invalidArgument("an aggregation has no structured_query")
        }
        var (fields, aliases): ([AggregateField], [String]) = ([], [])
        // Those without an alias are numbered by themselves.
        var number = 0
        for part in message.aggregations {
            switch part.operator {
            case .count(let count)?:
                guard !count.hasUpTo || count.upTo.value >= 0 else {
                    throw .invalidArgument("up_to must not be negative")
                }
                fields.append(.count(upTo: count.hasUpTo ? Int(clamping: count.upTo.value) : nil))
            case .sum(let sum)?: fields.append(.sum(try Self.fieldPath(sum.field.fieldPath)))
            case .avg(let average)?: fields.append(.average(try Self.fieldPath(average.field.fieldPath)))
            case nil: throw .invalidArgument("an aggregation has no operator")
            }
            if part.alias.isEmpty { number += 1 } else { try DocumentLimits.checkFieldName(part.alias) }
            aliases.append(part.alias.isEmpty ? "field_\(number)" : part.alias)
        }
        guard (1...AggregateField.maxCount).contains(fields.count) else {
            throw .invalidArgument(
                "a query has \(fields.count) aggregations; the maximum number of aggregations is \(AggregateField.maxCount)"
            )
        }
        guard Set(aliases).count == aliases.count else { throw .invalidArgument("two aggregations have one alias") }
        return (try query(structured, parent: parent), fields, aliases)
    }
}
