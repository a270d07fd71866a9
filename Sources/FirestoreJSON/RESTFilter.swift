import DocumentModel
import StrictJSON

/// Query filters in Firestore's JSON format.
extension JSONNode {
    func filter() throws(JSONProblem) -> Query.Filter {
        let members = try members()
        guard let member = members.first, members.count == 1 else {
            throw problem("a filter needs exactly one of compositeFilter, fieldFilter and unaryFilter")
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
                switch try member.value.choice(["OPERATOR_UNSPECIFIED", "AND", "OR"]) {
                case "AND": isAnd = true
                case "OR": isAnd = false
                default: throw member.value.problem("\(member.value.summary) is not an operator; write AND or OR")
                }
            case "filters":
                for element in try member.value.elements() { filters.append(try element.filter()) }
            default: throw member.unknown
            }
        }
        guard let isAnd else { throw problem("a composite filter needs op, AND or OR") }
        guard !filters.isEmpty else { throw problem("a composite filter needs filters") }
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
                comparison = Query.Operator(rest: try member.value.choice(Query.Operator.restNames))
                if comparison == nil {
                    throw member.value.problem("\(member.value.summary) is not an operator of a field filter")
                }
            case "value": operand = try member.value.value()
            default: throw member.unknown
            }
        }
        guard let field, let comparison, let operand else { throw problem("a field filter needs field, op and value") }
        return .field(field, comparison, operand)
    }

    private func unaryFilter() throws(JSONProblem) -> Query.Filter {
        var field: FieldPath?
        var test: Query.UnaryOperator?
        for member in try members() {
            switch member.key {
            case "field": field = try member.value.fieldReference()
            case "op":
                test = Query.UnaryOperator(rest: try member.value.choice(Query.UnaryOperator.restNames))
                if test == nil { throw member.value.problem("\(member.value.summary) is not a unary operator") }
            default: throw member.unknown
            }
        }
        guard let field, let test else { throw problem("a unary filter needs field and op") }
        return .unary(field, test)
    }

    func fieldReference() throws(JSONProblem) -> FieldPath {
        var path: FieldPath?
        for member in try members() {
            guard member.key == "fieldPath" else { throw member.unknown }
            path = try member.value.fieldPath()
        }
        guard let path else { throw problem("a field needs fieldPath") }
        return path
    }
}

extension JSONWriter {
    mutating func filter(_ filter: Query.Filter) {
        switch filter {
        case .and(let filters): composite("AND", filters)
        case .or(let filters): composite("OR", filters)
        case .field(let field, let comparison, let value):
            raw("{\"fieldFilter\":{\"field\":")
            fieldReference(field)
            raw(",\"op\":")
            string(comparison.restName)
            raw(",\"value\":")
            self.value(value)
            raw("}}")
        case .unary(let field, let test):
            raw("{\"unaryFilter\":{\"op\":")
            string(test.restName)
            raw(",\"field\":")
            fieldReference(field)
            raw("}}")
        }
    }

    private mutating func composite(_ name: String, _ filters: [Query.Filter]) {
        raw("{\"compositeFilter\":{\"op\":")
        string(name)
        raw(",\"filters\":")
        array(filters) { $0.filter($1) }
        raw("}}")
    }

    mutating func fieldReference(_ field: FieldPath) {
        raw("{\"fieldPath\":")
        string(field.description)
        raw("}")
    }
}

extension Query.Operator {
    var restName: String {
        switch self {
        case .equal: "EQUAL"
        case .notEqual: "NOT_EQUAL"
        case .lessThan: "LESS_THAN"
        case .lessThanOrEqual: "LESS_THAN_OR_EQUAL"
        case .greaterThan: "GREATER_THAN"
        case .greaterThanOrEqual: "GREATER_THAN_OR_EQUAL"
        case .in: "IN"
        case .notIn: "NOT_IN"
        case .arrayContains: "ARRAY_CONTAINS"
        case .arrayContainsAny: "ARRAY_CONTAINS_ANY"
        }
    }

    fileprivate init?(rest name: String) {
        guard let named = Self.byName[name] else { return nil }
        self = named
    }

    /// The operators by their numbers.
    fileprivate static let restNames = [
        "OPERATOR_UNSPECIFIED", "LESS_THAN", "LESS_THAN_OR_EQUAL", "GREATER_THAN", "GREATER_THAN_OR_EQUAL", "EQUAL",
        "NOT_EQUAL", "ARRAY_CONTAINS", "IN", "ARRAY_CONTAINS_ANY", "NOT_IN",
    ]

    private static let byName = Dictionary(uniqueKeysWithValues: allCases.map { ($0.restName, $0) })
}

extension Query.UnaryOperator {
    var restName: String {
        switch self {
        case .isNull: "IS_NULL"
        case .isNotNull: "IS_NOT_NULL"
        case .isNaN: "IS_NAN"
        case .isNotNaN: "IS_NOT_NAN"
        }
    }

    fileprivate init?(rest name: String) {
        guard let named = Self.allCases.first(where: { $0.restName == name }) else { return nil }
        self = named
    }

    /// The operators by their numbers. One number is unused.
    fileprivate static let restNames = ["OPERATOR_UNSPECIFIED", "", "IS_NAN", "IS_NULL", "IS_NOT_NAN", "IS_NOT_NULL"]
}
