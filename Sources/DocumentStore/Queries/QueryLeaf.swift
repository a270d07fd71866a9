import DocumentModel

/// One condition on one field.
struct QueryLeaf: Hashable, Sendable {
    enum Test: Hashable, Sendable {
        /// Any operator except `in`, `arrayContainsAny` and `notIn`.
        case compare(Query.Operator, Value)
        /// The field equals none of the values.
        case none([Value])
        case null, notNull, nan, notNaN
    }

    static let maxDisjuncts = 30
    static let maxIn = 30
    static let maxNotIn = 10
    static let maxFilters = 100

    var field: FieldPath
    var test: Test

    /// The only value that the field may have, if there is one.
    var equalValue: Value? {
        switch test {
        case .compare(.equal, let value): value
        case .null: .null
        case .nan: .double(.nan)
        default: nil
        }
    }

    static func inequalityFields(of filter: Query.Filter?) -> Set<FieldPath> {
        switch filter {
        case nil: return []
        case .and(let filters), .or(let filters):
            return filters.reduce(into: []) { $0.formUnion(inequalityFields(of: $1)) }
        case .field(let field, let comparison, let value):
            switch comparison {
            case .equal, .in, .arrayContains, .arrayContainsAny: return []
            case .notEqual, .notIn: return [field]
            // A condition that matches nothing doesn't require an order by its field.
            default: return isComparable(value) ? [field] : []
            }
        case .unary(let field, .isNotNull), .unary(let field, .isNotNaN): return [field]
        case .unary: return []
        }
    }

    /// The filter as a disjunction of conjunctions.
    ///
    /// - Throws: `invalidArgument` if that takes more than 30 conjunctions, or a part of the filter isn't allowed.
    static func disjuncts(of filter: Query.Filter?) throws(DocumentError) -> [[QueryLeaf]] {
        guard let filter else { return [[]] }
        guard try count(filter) <= maxDisjuncts else {
            throw .invalidArgument("a query has more than 30 disjunctions, the limit")
        }
        // Composite filters count in addition to their parts, so that useless nesting isn't free.
        guard nodes(of: filter) <= 2 * maxFilters else {
            throw .invalidArgument("a query has more than \(maxFilters) filters, the limit")
        }
        // If all of the filter has at most one, each conjunction does too.
        guard try checkCounts(filter).arrays <= 1 || arrayFilters(filter) <= 1 else {
            throw .invalidArgument(
                "a query has more than one array-contains or array-contains-any in a conjunction")
        }
        return expand(filter)
    }

    /// A filter on an array's elements; several elements may be in any order.
    private struct ArrayFilter: Hashable {
        var field: FieldPath
        var isAny: Bool
        var elements: Set<Value>

        init?(_ filter: Query.Filter) {
            switch filter {
            case .field(let field, .arrayContains, let value): (self.field, isAny, elements) = (field, false, [value])
            case .field(let field, .arrayContainsAny, .array(let values)):
                (self.field, isAny, elements) = (field, true, Set(values))
            default: return nil
            }
        }
    }

    /// The highest number of array filters in a conjunction. Identical filters in the same composite filter count as
    /// one.
    private static func arrayFilters(_ filter: Query.Filter) -> Int {
        switch filter {
        case .and(let filters):
            let own = filters.compactMap(ArrayFilter.init)
            return Set(own).count + filters.reduce(0) { $0 + (ArrayFilter($1) == nil ? arrayFilters($1) : 0) }
        case .or(let filters): return filters.reduce(0) { max($0, arrayFilters($1)) }
        case .field, .unary: return ArrayFilter(filter) == nil ? 0 : 1
        }
    }

    static func check(_ field: FieldPath) throws(DocumentError) {
        guard !field.isDocumentID else { return }
        try field.check()
    }

    private static func count(_ filter: Query.Filter) throws(DocumentError) -> Int {
        switch filter {
        case .and(let filters):
            guard !filters.isEmpty else { throw .invalidArgument("a composite filter has no parts") }
            var product = 1
            for filter in filters { product = min(product * (try count(filter)), maxDisjuncts + 1) }
            return product
        case .or(let filters):
            guard !filters.isEmpty else { throw .invalidArgument("a composite filter has no parts") }
            var sum = 0
            for filter in filters { sum = min(sum + (try count(filter)), maxDisjuncts + 1) }
            return sum
        case .field(let field, let comparison, let value):
            try check(field)
            try value.checkNames()
            try DocumentLimits.checkOperand(value)
            switch comparison {
            case .in: return try elements(value, "in", atMost: maxIn).count
            case .arrayContainsAny: return try elements(value, "array-contains-any", atMost: maxIn).count
            case .notIn:
                _ = try elements(value, "not-in", atMost: maxNotIn)
                return 1
            default: return 1
            }
        case .unary(let field, _):
            try check(field)
            return 1
        }
    }

    private static func elements(
        _ value: Value, _ name: String, atMost limit: Int
    ) throws(DocumentError) -> [Value] {
        guard case .array(let values) = value, !values.isEmpty else {
            throw .invalidArgument("\(name) takes an array that is not empty")
        }
        guard values.count <= limit else {
            throw .invalidArgument("\(name) takes at most \(limit) values, the limit, and has \(values.count)")
        }
        return values
    }

    /// Stops counting once the limit is exceeded.
    private static func nodes(of filter: Query.Filter) -> Int {
        guard case .and(let filters) = filter else {
            guard case .or(let filters) = filter else { return 1 }
            return filters.prefix(maxFilters + 1).reduce(1) { $0 + nodes(of: $1) }
        }
        return filters.prefix(maxFilters + 1).reduce(1) { $0 + nodes(of: $1) }
    }

    private struct Counts {
        var negations = 0
        var notIns = 0
        var disjunctions = 0
        var arrays = 0
        var leaves = 0
    }

    /// Firestore allows only one `!=` or `not-in`, and no disjunction together with `not-in`.
    private static func checkCounts(_ filter: Query.Filter) throws(DocumentError) -> Counts {
        var counts = Counts()
        count(filter, &counts)
        guard counts.negations <= 1 else { throw .invalidArgument("a query has more than one of != and not-in") }
        guard counts.notIns == 0 || counts.disjunctions == 0 else {
            throw .invalidArgument("a query has not-in beside in, array-contains-any or or, which it excludes")
        }
        guard counts.leaves <= maxFilters else {
            throw .invalidArgument("a query has more than \(maxFilters) filters, the limit")
        }
        return counts
    }

    /// The number of conditions of a filter.
    static func conditionCount(_ filter: Query.Filter) -> Int {
        switch filter {
        case .and(let filters), .or(let filters): filters.reduce(0) { $0 + conditionCount($1) }
        case .field, .unary: 1
        }
    }

    private static func count(_ filter: Query.Filter, _ counts: inout Counts) {
        switch filter {
        case .and(let filters), .or(let filters):
            if case .or = filter, filters.count > 1 { counts.disjunctions += 1 }
            for filter in filters { count(filter, &counts) }
            return
        case .field(_, .notEqual, _), .unary(_, .isNotNull), .unary(_, .isNotNaN): counts.negations += 1
        case .field(_, .notIn, _):
            counts.negations += 1
            counts.notIns += 1
        case .field(_, .in, _): counts.disjunctions += 1
        case .field(_, .arrayContainsAny, _):
            counts.disjunctions += 1
            counts.arrays += 1
        case .field(_, .arrayContains, _): counts.arrays += 1
        case .field, .unary: break
        }
        counts.leaves += 1
    }

    private static func expand(_ filter: Query.Filter) -> [[QueryLeaf]] {
        switch filter {
        case .and(let filters):
            return filters.reduce([[]]) { product, filter in
                let parts = expand(filter)
                return product.flatMap { leaves in parts.map { leaves + $0 } }
            }
        case .or(let filters): return filters.flatMap(expand)
        case .field(let field, let comparison, let value): return expand(field, comparison, value)
        case .unary(let field, let test):
            switch test {
            case .isNull: return [[QueryLeaf(field: field, test: .null)]]
            case .isNotNull: return [[QueryLeaf(field: field, test: .notNull)]]
            case .isNaN: return [[QueryLeaf(field: field, test: .nan)]]
            case .isNotNaN: return [[QueryLeaf(field: field, test: .notNaN)]]
            }
        }
    }

    /// Null and NaN can't be compared with: nothing is equal to them, less or greater. The unary operators test for
    /// them. Firestore interprets them in the same way.
    private static func expand(
        _ field: FieldPath, _ comparison: Query.Operator, _ value: Value
    ) -> [[QueryLeaf]] {
        func leaf(_ test: Test) -> QueryLeaf { QueryLeaf(field: field, test: test) }
        // Operands for the name are checked later: they must be names.
        let isComparable = field.isDocumentID ? { _ in true } : Self.isComparable
        switch (comparison, value) {
        case (.in, .array(let values)):
            return values.filter(isComparable).map { [leaf(.compare(.equal, $0))] }
        case (.arrayContainsAny, .array(let values)):
            return values.filter(isComparable).map { [leaf(.compare(.arrayContains, $0))] }
        case (.notIn, .array(let values)):
            return values.contains(.null) && !field.isDocumentID ? [] : [[leaf(.none(values))]]
        case (.notEqual, .null) where !field.isDocumentID: return []
        case (.notEqual, _): return [[leaf(isComparable(value) ? .compare(.notEqual, value) : .notNaN)]]
        case (.lessThan, _) where value.valueClass == .number && isComparable(value),
            (.lessThanOrEqual, _) where value.valueClass == .number && isComparable(value):
            // NaN sorts before all numbers, but isn't less than any number.
            let leastNumber = leaf(.compare(.greaterThanOrEqual, .double(-.infinity)))
            return [[leaf(.compare(comparison, value)), leastNumber]]
        default: return isComparable(value) ? [[leaf(.compare(comparison, value))]] : []
        }
    }

    private static func isComparable(_ value: Value) -> Bool {
        switch value {
        case .null: false
        case .double(let number): !number.isNaN
        default: true
        }
    }
}
