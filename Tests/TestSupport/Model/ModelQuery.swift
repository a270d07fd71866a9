package import DocumentModel

/// A query answered by looking at every document.
package struct ModelQuery: Sendable {
    package let query: Query
    /// The orders that are asked for and those that follow from the filter, `__name__` among them.
    private let orders: [Query.Order]
    /// Fields without which a document is not found.
    private let needed: [FieldPath]

    package init(_ query: Query) {
        self.query = query
        var orders = query.orderBy
        let descending = orders.last?.descending ?? false
        let implicit = Self.inequalities(query.filter).filter { field in
            !field.isDocumentID && !orders.contains { $0.field == field }
        }.sorted { a, b in
            let names = (a.segments.map { Array($0.utf8) }, b.segments.map { Array($0.utf8) })
            return names.0.lexicographicallyPrecedes(names.1) { $0.lexicographicallyPrecedes($1) }
        }
        orders += implicit.map { Query.Order($0, descending: descending) }
        if !orders.contains(where: \.field.isDocumentID) {
            orders.append(Query.Order(.documentID, descending: descending))
        }
        self.orders = orders
        needed = orders.map(\.field).filter { !$0.isDocumentID }
    }

    package func run(in state: ModelState) -> [Document] { run(in: state, having: []) }

    /// The documents that have some fields besides.
    func run(in state: ModelState, having fields: [FieldPath]) -> [Document] {
        let found = state.documents.values.filter { document in
            matches(document) && fields.allSatisfy { ModelFields.value(document.fields, $0.segments) != nil }
        }.filter(isBetweenCursors).sorted { compare($0, $1) < 0 }
        return Array(found.dropFirst(query.offset).prefix(query.limit ?? .max)).map(project)
    }

    /// Whether the query looks where the document is and its filter lets it through.
    package func matches(_ document: Document) -> Bool {
        covers(document.path) && needed.allSatisfy { ModelFields.value(document.fields, $0.segments) != nil }
            && (query.filter.map { holds($0, document) } ?? true)
    }

    private func covers(_ path: DocumentPath) -> Bool {
        guard path.parent.id == query.collectionID else { return false }
        guard query.allDescendants else { return path.parent.parent == query.parent }
        guard let parent = query.parent else { return true }
        return path.segments.count > parent.segments.count && path.segments.starts(with: parent.segments)
    }

    private static func inequalities(_ filter: Query.Filter?) -> Set<FieldPath> {
        switch filter {
        case nil: return []
        case .and(let parts), .or(let parts): return parts.reduce(into: []) { $0.formUnion(inequalities($1)) }
        case .field(let field, let comparison, let operand):
            let equalities: [Query.Operator] = [.equal, .in, .arrayContains, .arrayContainsAny]
            let negations: [Query.Operator] = [.notEqual, .notIn]
            // A comparison with what nothing is compared with asks for no order either.
            let isVoid = operand == .null || operand == .double(.nan)
            return equalities.contains(comparison) || isVoid && !negations.contains(comparison) ? [] : [field]
        case .unary(let field, let test): return test == .isNotNull || test == .isNotNaN ? [field] : []
        }
    }

    private func holds(_ filter: Query.Filter, _ document: Document) -> Bool {
        switch filter {
        case .and(let parts): return parts.allSatisfy { holds($0, document) }
        case .or(let parts): return parts.contains { holds($0, document) }
        case .field(let field, let comparison, let operand):
            if field.isDocumentID { return holds(comparison, document.path, operand) }
            guard let value = ModelFields.value(document.fields, field.segments) else { return false }
            return holds(comparison, value, operand)
        case .unary(let field, let test):
            guard let value = ModelFields.value(document.fields, field.segments) else { return false }
            let isNaN = ModelOrder.equal(value, .double(.nan))
            switch test {
            case .isNull: return value == .null
            case .isNotNull: return value != .null
            case .isNaN: return isNaN
            case .isNotNaN: return value != .null && !isNaN
            }
        }
    }

    /// Nothing compares with null, and with NaN only to be unlike it.
    private func holds(_ comparison: Query.Operator, _ value: Value, _ operand: Value) -> Bool {
        switch comparison {
        case .equal: return isSame(value, operand)
        case .notEqual: return value != .null && operand != .null && !ModelOrder.equal(value, operand)
        case .in: return elements(operand).contains { isSame(value, $0) }
        case .notIn:
            return value != .null && !elements(operand).contains { $0 == .null || ModelOrder.equal($0, value) }
        case .arrayContains: return elements(value).contains { isSame($0, operand) }
        case .arrayContainsAny:
            return elements(value).contains { element in
                elements(operand).contains { isSame(element, $0) }
            }
        default:
            guard ![value, operand].contains(where: { $0 == .null || $0 == .double(.nan) }) else { return false }
            return ModelOrder.comparable(value, operand) && Self.holds(comparison, ModelOrder.compare(value, operand))
        }
    }

    private func isSame(_ value: Value, _ operand: Value) -> Bool {
        operand != .null && operand != .double(.nan) && ModelOrder.equal(value, operand)
    }

    private func holds(_ comparison: Query.Operator, _ path: DocumentPath, _ operand: Value) -> Bool {
        switch comparison {
        case .in: elements(operand).contains { name($0) == path }
        case .notIn: !elements(operand).contains { name($0) == path }
        default: name(operand).map { Self.holds(comparison, ModelOrder.compare(path, $0)) } ?? false
        }
    }

    private static func holds(_ comparison: Query.Operator, _ order: Int) -> Bool {
        switch comparison {
        case .equal: order == 0
        case .notEqual: order != 0
        case .lessThan: order < 0
        case .lessThanOrEqual: order <= 0
        case .greaterThan: order > 0
        case .greaterThanOrEqual: order >= 0
        default: false
        }
    }

    private func compare(_ a: Document, _ b: Document) -> Int {
        for order in orders {
            let result =
                order.field.isDocumentID
                ? ModelOrder.compare(a.path, b.path)
                : ModelOrder.compare(value(a, order.field), value(b, order.field))
            if result != 0 { return order.descending ? -result : result }
        }
        return 0
    }

    private func isBetweenCursors(_ document: Document) -> Bool {
        if let start = query.start {
            let order = compare(document, start)
            if order < 0 || (order == 0 && !start.before) { return false }
        }
        if let end = query.end {
            let order = compare(document, end)
            if order > 0 || (order == 0 && end.before) { return false }
        }
        return true
    }

    private func compare(_ document: Document, _ cursor: Query.Cursor) -> Int {
        for (order, bound) in zip(orders, cursor.values) {
            var result = 0
            if order.field.isDocumentID {
                if let path = name(bound) { result = ModelOrder.compare(document.path, path) }
            } else {
                result = ModelOrder.compare(value(document, order.field), bound)
            }
            if result != 0 { return order.descending ? -result : result }
        }
        return 0
    }

    private func project(_ document: Document) -> Document {
        guard let projection = query.projection else { return document }
        var projected = document
        projected.fields = [:]
        for field in projection where !field.isDocumentID {
            guard let value = ModelFields.value(document.fields, field.segments) else { continue }
            projected.fields = ModelFields.setting(projected.fields, field.segments, to: value)
        }
        return projected
    }

    private func value(_ document: Document, _ field: FieldPath) -> Value {
        ModelFields.value(document.fields, field.segments) ?? .null
    }

    private func elements(_ value: Value) -> [Value] {
        guard case .array(let elements) = value else { return [] }
        return elements
    }

    private func name(_ value: Value) -> DocumentPath? {
        switch value {
        case .reference(let name): return name.path
        case .string(let text):
            let prefix =
                query.allDescendants ? "" : (query.parent.map { $0.string + "/" } ?? "") + query.collectionID + "/"
            return try? DocumentPath(prefix + text)
        default: return nil
        }
    }
}
