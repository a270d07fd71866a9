import DocumentModel

/// One conjunction of a query as plans see it: what is equal, and which orders and cursors that leaves.
struct Conjunction {
    /// The one value of a field, or of an element of its array.
    struct Equality {
        var field: FieldPath
        var value: Value
        var isElement: Bool
        /// The condition's place among the leaves.
        var leaf: Int
    }

    /// A cursor by the orders that are left.
    struct Cursor {
        var values: [Value]
        var before: Bool
        /// Whether the values say all that the cursor says.
        var isWhole: Bool
    }

    let query: NormalizedQuery
    let leaves: [QueryLeaf]
    private(set) var equalities: [Equality] = []
    /// Up to the name, without fields that have one value only.
    private(set) var orders: [Query.Order] = []
    private(set) var start: Cursor?
    private(set) var end: Cursor?
    /// The one document that there can be.
    private(set) var document: DocumentPath?
    /// Whether the conditions contradict each other or the cursors.
    private(set) var isEmpty = false

    init(_ query: NormalizedQuery, _ leaves: [QueryLeaf]) {
        self.query = query
        self.leaves = leaves
        for (index, leaf) in leaves.enumerated() { note(leaf, index) }
        for order in query.orders {
            if value(of: order.field) == nil { orders.append(order) }
            if order.field.isDocumentID { break }
        }
        start = reduce(query.query.start, isStart: true)
        end = reduce(query.query.end, isStart: false)
    }

    /// The one value that a field has in all documents; nil where it may have several.
    func value(of field: FieldPath) -> Value? {
        equalities.first { !$0.isElement && $0.field == field }?.value
    }

    /// Whether all documents have a field.
    func requires(_ field: FieldPath) -> Bool {
        leaves.contains { $0.field == field } || query.orders.contains { $0.field == field }
            || query.required.contains(field)
    }

    /// Whether no document can be one of both.
    func excludes(_ other: Conjunction) -> Bool {
        if let document, let otherDocument = other.document { return document != otherDocument }
        return equalities.contains { equality in
            guard !equality.isElement, let value = other.value(of: equality.field) else { return false }
            return !Value.equivalent(equality.value, value)
        }
    }

    private mutating func note(_ leaf: QueryLeaf, _ index: Int) {
        if leaf.field.isDocumentID {
            guard case .compare(.equal, let value) = leaf.test, let path = try? query.name(value) else { return }
            if let document, document != path { isEmpty = true }
            document = path
        } else if let value = leaf.equalValue {
            if let other = self.value(of: leaf.field) {
                if !Value.equivalent(value, other) { isEmpty = true }
            } else {
                equalities.append(Equality(field: leaf.field, value: value, isElement: false, leaf: index))
            }
        } else if case .compare(.arrayContains, let value) = leaf.test {
            equalities.append(Equality(field: leaf.field, value: value, isElement: true, leaf: index))
        }
    }

    /// Takes the values of fields that have one value out of a cursor. Where they differ from it they decide alone.
    private mutating func reduce(_ cursor: Query.Cursor?, isStart: Bool) -> Cursor? {
        guard let cursor else { return nil }
        var reduced = Cursor(values: [], before: cursor.before, isWhole: true)
        var passedName = false
        for (value, order) in zip(cursor.values, query.orders) {
            guard !passedName else {
                reduced.isWhole = false
                break
            }
            guard let own = self.value(of: order.field) else {
                reduced.values.append(value)
                passedName = order.field.isDocumentID
                continue
            }
            var result = Value.compare(own, value)
            if order.descending { result = result.reversed }
            guard result == .same else {
                // Documents with equal values before this one are still decided by those.
                guard reduced.values.isEmpty else {
                    reduced.before = result == .descending
                    return reduced
                }
                if (result == .ascending) == isStart { isEmpty = true }
                return nil
            }
        }
        guard reduced.values.isEmpty else { return reduced }
        if cursor.before != isStart { isEmpty = true }
        return nil
    }
}
