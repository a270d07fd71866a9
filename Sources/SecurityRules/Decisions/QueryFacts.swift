import DocumentModel

/// What isn't known of the documents that a query could return.
package enum UnknownValue: Sendable {
    /// The variable `resource`.
    case resource
    /// A field; with no segments, all fields.
    case field([String])
    /// `keys()` of a field.
    case keys([String])
    /// What `{name=**}` captures, and where a collection group is.
    case path
    case other
}

/// What a query says of every document that it could return. A filter with alternatives is several queries, each with its
/// facts: `or`, `in` and `array-contains-any` are.
struct QueryFacts: Sendable {
    /// Firestore allows 30.
    private static let maxAlternatives = 100

    private var filters: [(path: [String], operation: Query.Operator, value: Value)] = []
    /// Fields that the documents have.
    private var fields: [[String]] = []
    /// The document's name, if the query asks for one.
    private(set) var name: DocumentName?

    /// The facts of each alternative.
    static func all(of query: Query) -> [QueryFacts] {
        var shared = QueryFacts()
        // A document without the field isn't returned.
        shared.fields = query.orderBy.filter { !$0.field.isDocumentID }.map(\.field.segments)
        guard let filter = query.filter else { return [shared] }
        return alternatives(of: filter, maxAlternatives).map { parts in
            parts.map { part in
                var facts = shared
                for part in part { facts.add(part) }
                return facts
            }
        } ?? [shared]
    }

    /// The disjunctive normal form of a filter; nil if it is too large.
    private static func alternatives(of filter: Query.Filter, _ limit: Int) -> [[Query.Filter]]? {
        switch filter {
        case .or(let filters):
            var all: [[Query.Filter]] = []
            for filter in filters {
                guard let some = alternatives(of: filter, limit), all.count + some.count <= limit else { return nil }
                all += some
            }
            return all
        case .and(let filters):
            var all: [[Query.Filter]] = [[]]
            for filter in filters {
                guard let some = alternatives(of: filter, limit), all.count * some.count <= limit else { return nil }
                all = all.flatMap { one in some.map { one + $0 } }
            }
            return all
        case .field(let path, .in, .array(let values)):
            return values.count <= limit ? values.map { [.field(path, .equal, $0)] } : nil
        case .field(let path, .arrayContainsAny, .array(let values)):
            return values.count <= limit ? values.map { [.field(path, .arrayContains, $0)] } : nil
        case .field, .unary: return [[filter]]
        }
    }

    private mutating func add(_ filter: Query.Filter) {
        switch filter {
        case .field(let path, let operation, let value):
            if path.isDocumentID {
                if operation == .equal, case .reference(let name) = value { self.name = name }
                return
            }
            fields.append(path.segments)
            if operation == .notIn, case .array(let values) = value {
                for value in values { filters.append((path.segments, .notEqual, value)) }
            } else {
                filters.append((path.segments, operation, value))
            }
        case .unary(let path, let operation):
            guard !path.isDocumentID else { return }
            fields.append(path.segments)
            switch operation {
            case .isNull: filters.append((path.segments, .equal, .null))
            case .isNotNull: filters.append((path.segments, .notEqual, .null))
            case .isNaN: filters.append((path.segments, .equal, .double(.nan)))
            case .isNotNaN: break
            }
        case .and, .or: break
        }
    }

    // MARK: Fields

    /// Names are compared by their bytes: documents may have other values in fields that only look alike.
    private static func begins(_ path: [String], with other: [String]) -> Bool {
        path.starts(with: other) { TextBytes.equal($0, $1) }
    }

    private static func isSame(_ path: [String], _ other: [String]) -> Bool {
        path.elementsEqual(other) { TextBytes.equal($0, $1) }
    }

    /// The value of a field that the query compares with `==`, or that is within one.
    func value(of path: [String]) -> RuleValue? {
        for filter in filters where filter.operation == .equal && Self.begins(path, with: filter.path) {
            var value = RuleValue(filter.value)
            for name in path.dropFirst(filter.path.count) {
                guard let member = value.member(name) else { return nil }
                value = member
            }
            return value
        }
        return nil
    }

    func exists(_ path: [String]) -> Bool { fields.contains { Self.begins($0, with: path) } || value(of: path) != nil }

    /// Whether the field is a list that has a value.
    func hasElement(_ element: RuleValue, in path: [String]) -> Bool {
        filters.contains {
            $0.operation == .arrayContains && Self.isSame($0.path, path) && RuleValue.same(RuleValue($0.value), element)
        }
    }

    // MARK: Comparisons

    /// Whether a field is less than, greater than, equal or not equal to a value; nil if that isn't known.
    func compare(_ path: [String], _ operation: Instruction.Operation, _ value: RuleValue) -> Bool? {
        switch operation {
        case .equal: return excludes(path, value) ? false : nil
        case .notEqual: return excludes(path, value) ? true : nil
        default: break
        }
        for filter in filters where Self.isSame(filter.path, path) {
            guard let order = Self.order(RuleValue(filter.value), value), order != .unordered else { continue }
            let (isBelow, includes): (Bool, Bool)
            switch filter.operation {
            case .lessThan: (isBelow, includes) = (true, false)
            case .lessThanOrEqual: (isBelow, includes) = (true, true)
            case .greaterThan: (isBelow, includes) = (false, false)
            case .greaterThanOrEqual: (isBelow, includes) = (false, true)
            default: continue
            }
            // The field is below (above) the filter's value: is it then below (above) this one?
            let decides = order == (isBelow ? .less : .greater) || order == .equal && !includes
            let decidesOrEqual = decides || order == .equal
            switch operation {
            case .less: if isBelow, decides { return true } else if !isBelow, decidesOrEqual { return false }
            case .lessOrEqual: if isBelow, decidesOrEqual { return true } else if !isBelow, decides { return false }
            case .greater: if !isBelow, decides { return true } else if isBelow, decidesOrEqual { return false }
            case .greaterOrEqual: if !isBelow, decidesOrEqual { return true } else if isBelow, decides { return false }
            default: break
            }
        }
        return nil
    }

    /// The order of two values, if the store and the language have the same: strings are ordered by UTF-8 there, and large
    /// integers and floats exactly.
    private static func order(_ a: RuleValue, _ b: RuleValue) -> Ordering? {
        switch (a, b) {
        case (.string(let a), .string(let b)) where (a + b).utf16.contains { $0 >= 0xD800 }: nil
        case (.int(let number), .float), (.float, .int(let number)):
            number.magnitude < 1 << 53 ? RuleValue.order(a, b) : nil
        default: RuleValue.order(a, b)
        }
    }

    private func excludes(_ path: [String], _ value: RuleValue) -> Bool {
        // All fields together are a map.
        guard !path.isEmpty else { return !value.isMap }
        for filter in filters where Self.isSame(filter.path, path) {
            let known = RuleValue(filter.value)
            switch filter.operation {
            case .notEqual: if RuleValue.equal(known, value), !filter.value.hasReference { return true }
            case .arrayContains: if value.elements == nil { return true }
            case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
                guard let order = Self.order(known, value) else {
                    // A range has values of one type.
                    if RuleValue.order(known, value) == nil, known.type != value.type { return true }
                    continue
                }
                let isBelow = filter.operation == .lessThan || filter.operation == .lessThanOrEqual
                let includes = filter.operation == .lessThanOrEqual || filter.operation == .greaterThanOrEqual
                if order == (isBelow ? .less : .greater) || order == .equal && !includes { return true }
            default: break
            }
        }
        return false
    }

    /// The type of a field, from the ranges and lists that the query asks for; nil if it isn't known. Numbers are `number`.
    func type(of path: [String]) -> String? {
        guard !path.isEmpty else { return "map" }
        for filter in filters where Self.isSame(filter.path, path) {
            switch filter.operation {
            case .arrayContains: return "list"
            case .lessThan, .lessThanOrEqual, .greaterThan, .greaterThanOrEqual:
                let type = RuleValue(filter.value).type
                return type == "int" || type == "float" ? "number" : type
            default: break
            }
        }
        return nil
    }
}

extension Value {
    /// Rules see documents of several projects as the same path: what isn't the one may be the other.
    fileprivate var hasReference: Bool {
        switch self {
        case .reference: true
        case .array(let values): values.contains(where: \.hasReference)
        case .map(let fields): fields.contains { $0.value.hasReference }
        default: false
        }
    }
}
