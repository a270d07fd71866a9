import DocumentModel

extension NormalizedQuery {
    /// Whether the document is in the query's collection, passes its filter and has the fields of its orders.
    ///
    /// Cursors, offset and limit aren't considered.
    func matches(_ document: Document) -> Bool {
        guard covers(document.path), hasFields(document) else { return false }
        return disjuncts.contains { leaves in leaves.allSatisfy { matches(document, $0) } }
    }

    /// Whether the document has the fields that every document in the result must have.
    func hasFields(_ document: Document) -> Bool {
        for order in orders where !order.field.isDocumentID {
            guard document[order.field] != nil else { return false }
        }
        return required.allSatisfy { document[$0] != nil }
    }

    /// Whether a change adds a document to the query's matches, removes one or replaces one.
    func isChanged(by change: DocumentChange) -> Bool {
        covers(change.path) && (change.before.map(matches) ?? false || change.after.map(matches) ?? false)
    }

    /// Whether a document passes one condition.
    func matches(_ document: Document, _ leaf: QueryLeaf) -> Bool {
        if leaf.field.isDocumentID { return matches(document.path, leaf.test) }
        guard let value = document[leaf.field] else { return false }
        switch leaf.test {
        case .null: if case .null = value { return true } else { return false }
        case .notNull: if case .null = value { return false } else { return true }
        case .nan: return Value.equivalent(value, .double(.nan))
        case .notNaN:
            if case .null = value { return false }
            return !Value.equivalent(value, .double(.nan))
        case .none(let values):
            if case .null = value { return false }
            return !values.contains { if case .null = $0 { true } else { Value.equivalent($0, value) } }
        case .compare(.arrayContains, let wanted):
            guard case .array(let elements) = value else { return false }
            return elements.contains { Value.equivalent($0, wanted) }
        case .compare(.equal, let other): return Value.equivalent(value, other)
        case .compare(.notEqual, let other):
            if case .null = value { return false }
            return !Value.equivalent(value, other)
        case .compare(let comparison, let other):
            guard value.valueClass == other.valueClass else { return false }
            return Self.holds(comparison, Value.compare(value, other))
        }
    }

    private func matches(_ path: DocumentPath, _ test: QueryLeaf.Test) -> Bool {
        switch test {
        case .compare(let comparison, let value):
            // Names were checked when the query was normalized.
            guard let other = try? name(value) else { return false }
            return Self.holds(comparison, DocumentPath.compare(path, other))
        case .none(let values): return !values.contains { (try? name($0)) == path }
        default: return false
        }
    }

    private static func holds(_ comparison: Query.Operator, _ order: ValueOrder) -> Bool {
        switch comparison {
        case .equal: order == .same
        case .notEqual: order != .same
        case .lessThan: order == .ascending
        case .lessThanOrEqual: order != .descending
        case .greaterThan: order == .descending
        case .greaterThanOrEqual: order != .ascending
        default: false
        }
    }

    /// The document's place in the query's order.
    func place(of document: Document) -> QueryPlace {
        QueryPlace(
            document: document,
            values: orders.map { $0.field.isDocumentID ? .null : document[$0.field] ?? .null })
    }

    func compare(_ a: QueryPlace, _ b: QueryPlace) -> ValueOrder {
        for (index, order) in orders.enumerated() {
            let result =
                order.field.isDocumentID
                ? DocumentPath.compare(a.document.path, b.document.path)
                : Value.compare(a.values[index], b.values[index])
            if result != .same { return order.descending ? result.reversed : result }
        }
        return .same
    }

    /// Whether a place lies between the query's cursors.
    func isBetweenCursors(_ place: QueryPlace) -> Bool {
        if let start = query.start {
            let order = compare(place, start)
            if order == .ascending || (order == .same && !start.before) { return false }
        }
        if let end = query.end {
            let order = compare(place, end)
            if order == .descending || (order == .same && end.before) { return false }
        }
        return true
    }

    private func compare(_ place: QueryPlace, _ cursor: Query.Cursor) -> ValueOrder {
        for (index, value) in cursor.values.enumerated() {
            let order = orders[index]
            let result: ValueOrder
            if order.field.isDocumentID {
                guard let name = try? name(value) else { return .same }
                result = DocumentPath.compare(place.document.path, name)
            } else {
                result = Value.compare(place.values[index], value)
            }
            if result != .same { return order.descending ? result.reversed : result }
        }
        return .same
    }

    /// The document with the fields that the query selects.
    func project(_ document: Document) -> Document {
        guard let projection else { return document }
        var projected = document
        projected.fields = projection.applied(to: document.fields)
        return projected
    }
}

/// A document with the values that order it.
struct QueryPlace {
    var document: Document
    /// One for each order, except for the name, which the document holds.
    var values: [Value]
    /// The document's ``Document/weight``.
    var weight = 0
}
