import DocumentModel

extension JSONNode {
    /// Reads a `StructuredQuery` below `parent`; nil for one at the root.
    func structuredQuery(parent: DocumentPath?) throws(JSONProblem) -> Query {
        var query: Query?
        let members = try members()
        for member in members where member.key == "from" {
            query = try member.value.from(parent: parent)
        }
        guard var query else { throw problem("a query needs \"from\" with one collection") }
        for member in members {
            let node = member.value
            switch member.key {
            case "from": break
            case "where": query.filter = try node.filter()
            case "orderBy":
                for element in try node.elements() { query.orderBy.append(try element.order()) }
            case "startAt": query.start = try node.cursor()
            case "endAt": query.end = try node.cursor()
            case "offset": query.offset = try node.count()
            case "limit": query.limit = try node.limit()
            case "select": query.projection = try node.projection()
            case "findNearest":
                throw JSONProblem(offset: member.offset, message: "searching by vector is not available")
            default: throw member.unknown
            }
        }
        return query
    }

    private func from(parent: DocumentPath?) throws(JSONProblem) -> Query {
        let selectors = try elements()
        guard let selector = selectors.first, selectors.count == 1 else {
            throw problem("\"from\" names one collection, not \(selectors.count)")
        }
        var query = Query(parent: parent, collectionID: "")
        for member in try selector.members() {
            switch member.key {
            case "collectionId":
                let id = try member.value.string()
                do throws(DocumentError) {
                    let path = try CollectionPath(id)
                    guard path.parent == nil else {
                        throw DocumentError.invalidArgument("a collection id has no slash")
                    }
                } catch {
                    throw member.value.problem(error.message)
                }
                query.collectionID = id
            case "allDescendants": query.allDescendants = try member.value.boolean()
            default: throw member.unknown
            }
        }
        guard !query.collectionID.isEmpty else {
            throw selector.problem("a query over all collections is not available; name one with collectionId")
        }
        return query
    }

    private func filter() throws(JSONProblem) -> Query.Filter {
        let members = try members()
        guard let member = members.first, members.count == 1 else {
            throw problem("a filter is one of compositeFilter, fieldFilter and unaryFilter")
        }
        switch member.key {
        case "compositeFilter": return try member.value.compositeFilter()
        case "fieldFilter": return try member.value.fieldFilter()
        case "unaryFilter": return try member.value.unaryFilter()
        default: throw member.unknown
        }
    }

    private func compositeFilter() throws(JSONProblem) -> Query.Filter {
        var isAnd: Bool?
        var filters: [Query.Filter] = []
        for member in try members() {
            switch member.key {
            case "op":
                switch try member.value.string() {
                case "AND": isAnd = true
                case "OR": isAnd = false
                default: throw member.value.problem("\(member.value.summary) is no operator; write AND or OR")
                }
            case "filters":
                for element in try member.value.elements() { filters.append(try element.filter()) }
            default: throw member.unknown
            }
        }
        guard let isAnd else { throw problem("a composite filter needs its op, AND or OR") }
        guard !filters.isEmpty else { throw problem("a composite filter needs its filters") }
        return isAnd ? .and(filters) : .or(filters)
    }

    private func fieldFilter() throws(JSONProblem) -> Query.Filter {
        var field: FieldPath?
        var comparison: Query.Operator?
        var operand: Value?
        for member in try members() {
            switch member.key {
            case "field": field = try member.value.fieldReference()
            case "op":
                comparison = Self.operators[try member.value.string()]
                if comparison == nil { throw member.value.problem("\(member.value.summary) is no operator of a field") }
            case "value": operand = try member.value.value()
            default: throw member.unknown
            }
        }
        guard let field, let comparison, let operand else { throw problem("a field filter has field, op and value") }
        return .field(field, comparison, operand)
    }

    private func unaryFilter() throws(JSONProblem) -> Query.Filter {
        var field: FieldPath?
        var test: Query.UnaryOperator?
        for member in try members() {
            switch member.key {
            case "field": field = try member.value.fieldReference()
            case "op":
                test = Self.unaryOperators[try member.value.string()]
                if test == nil { throw member.value.problem("\(member.value.summary) is no unary operator") }
            default: throw member.unknown
            }
        }
        guard let field, let test else { throw problem("a unary filter has field and op") }
        return .unary(field, test)
    }

    private static let operators: [String: Query.Operator] = [
        "LESS_THAN": .lessThan, "LESS_THAN_OR_EQUAL": .lessThanOrEqual, "GREATER_THAN": .greaterThan,
        "GREATER_THAN_OR_EQUAL": .greaterThanOrEqual, "EQUAL": .equal, "NOT_EQUAL": .notEqual, "IN": .in,
        "NOT_IN": .notIn, "ARRAY_CONTAINS": .arrayContains, "ARRAY_CONTAINS_ANY": .arrayContainsAny,
    ]

    private static let unaryOperators: [String: Query.UnaryOperator] = [
        "IS_NULL": .isNull, "IS_NOT_NULL": .isNotNull, "IS_NAN": .isNaN, "IS_NOT_NAN": .isNotNaN,
    ]

    func fieldReference() throws(JSONProblem) -> FieldPath {
        var path: FieldPath?
        for member in try members() {
            guard member.key == "fieldPath" else { throw member.unknown }
            path = try member.value.fieldPath()
        }
        guard let path else { throw problem("a field needs its fieldPath") }
        return path
    }

    private func order() throws(JSONProblem) -> Query.Order {
        var field: FieldPath?
        var descending = false
        for member in try members() {
            switch member.key {
            case "field": field = try member.value.fieldReference()
            case "direction":
                switch try member.value.string() {
                case "ASCENDING", "DIRECTION_UNSPECIFIED": descending = false
                case "DESCENDING": descending = true
                default: throw member.value.problem("\(member.value.summary) is neither ASCENDING nor DESCENDING")
                }
            default: throw member.unknown
            }
        }
        guard let field else { throw problem("an order needs its field") }
        return Query.Order(field, descending: descending)
    }

    private func cursor() throws(JSONProblem) -> Query.Cursor {
        var cursor = Query.Cursor(values: [], before: false)
        for member in try members() {
            switch member.key {
            case "values":
                for element in try member.value.elements() { cursor.values.append(try element.value()) }
            case "before": cursor.before = try member.value.boolean()
            default: throw member.unknown
            }
        }
        return cursor
    }

    /// A bare integer, or the wrapper `{"value": 10}` that some clients write.
    private func limit() throws(JSONProblem) -> Int? {
        guard case .object = kind else { return try count() }
        var limit: Int?
        for member in try members() {
            guard member.key == "value" else { throw member.unknown }
            limit = try member.value.count()
        }
        return limit
    }

    private func count() throws(JSONProblem) -> Int {
        guard let count = Int32(exactly: try integer()), count >= 0 else {
            throw problem("\(summary) is not 0 … 2147483647")
        }
        return Int(count)
    }

    /// Firestore takes an empty selection for all fields.
    private func projection() throws(JSONProblem) -> [FieldPath]? {
        var fields: [FieldPath] = []
        for member in try members() {
            guard member.key == "fields" else { throw member.unknown }
            for element in try member.value.elements() { fields.append(try element.fieldReference()) }
        }
        return fields.isEmpty ? nil : fields
    }
}
