import DocumentModel

/// One conjunction of a query as plans use it: its equalities, and the orders and cursors that remain.
struct Conjunction {
    /// The only value of a field, or of an element of its array.
    struct Equality {
        var field: FieldPath
        var value: Value
        var isElement: Bool
        /// The condition's index among the leaves.
        var leaf: Int
    }

    /// A cursor in terms of the remaining orders.
    struct Cursor {
        var values: [Value]
        var before: Bool
        /// Whether the values express the whole cursor.
        var isWhole: Bool
    }

    let query: NormalizedQuery
    let leaves: [QueryLeaf]
    private(set) var equalities: [Equality] = []
    /// Up to the name, without fields that have only one value.
    private(set) var orders: [Query.Order] = []
    private(set) var start: Cursor?
    private(set) var end: Cursor?
    /// The only document that can match.
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

    /// The only value that a field has in all matching documents; nil if it may have several.
    func value(of field: FieldPath) -> Value? {
        equalities.first { !$0.isElement && $0.field == field }?.value
    }

    /// Whether all matching documents have a field.
    func requires(_ field: FieldPath) -> Bool {
        leaves.contains { $0.field == field } || query.orders.contains { $0.field == field }
            || query.required.contains(field)
    }

    /// Whether no document can match both.
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

    /// Removes fields with only one value from a cursor. If the cursor's value differs from that value, it decides
    /// alone.
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
                // The values before this one are the cursor; `before` decides about documents that equal it.
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
