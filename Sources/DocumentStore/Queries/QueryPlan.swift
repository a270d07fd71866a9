import DocumentModel

/// Where a conjunction's documents are looked for, and how much of the query's order that delivers.
struct QueryPlan {
    enum Source {
        /// At most one document.
        case document(DocumentPath)
        /// A range of a collection's documents.
        case documents(CollectionPath)
        /// A range of the index; documents stand at the end of its keys.
        case index(IndexScope)
    }

    enum Delivered {
        case nothing
        /// The first order only: documents with equal index values come in any order.
        case firstOrder
        case everything
    }

    var source: Source
    var range: KeyRange
    var reverse = false
    var delivered: Delivered
}

extension NormalizedQuery {
    /// A plan for each place where a conjunction's documents can be.
    func plans(for leaves: [QueryLeaf]) -> [QueryPlan] {
        for leaf in leaves where leaf.field.isDocumentID {
            guard case .compare(.equal, let value) = leaf.test, let path = try? name(value) else { continue }
            return [
                QueryPlan(
                    source: .document(path), range: KeyRange(lower: [], upper: []), delivered: .everything)
            ]
        }
        guard query.allDescendants else { return [plan(for: leaves)] }
        // A group's fields have no index: all its documents are looked at.
        let group = documentRange(leaves, scope: .group(collection.id))
        // A root collection has no entries of its group.
        return query.parent == nil ? [plan(for: leaves), group] : [group]
    }

    private func plan(for leaves: [QueryLeaf]) -> QueryPlan {
        for leaf in leaves {
            guard let value = leaf.equalValue, !leaf.field.isDocumentID else { continue }
            return equality(leaf.field, value, ofElements: false)
        }
        for leaf in leaves {
            guard case .compare(.arrayContains, let value) = leaf.test else { continue }
            return equality(leaf.field, value, ofElements: true)
        }
        let ranged = leaves.first { leaf in
            guard case .compare(let comparison, _) = leaf.test, !leaf.field.isDocumentID else { return false }
            return comparison != .notEqual
        }
        let first = orders[0]
        if let ranged, ranged.field != first.field, query.limit == nil || first.field.isDocumentID {
            return fieldRange(ranged.field, leaves, order: nil)
        }
        if !first.field.isDocumentID { return fieldRange(first.field, leaves, order: first) }
        return documentRange(leaves, scope: .collection(collection.string))
    }

    /// All entries of one value. They are in the order of the documents' names.
    private func equality(
        _ field: FieldPath, _ value: Value, ofElements: Bool
    ) -> QueryPlan {
        let scope = IndexScope.collection(collection.string)
        let prefix =
            IndexScope.prefix(ofCollection: collection.string, field: field, ofElements: ofElements)
            + ValueKey.indexed(value).key
        // Orders by the field itself say nothing where all have one value; an array's elements are another thing.
        let rest = ofElements ? orders : orders.filter { $0.field != field }
        let byName = rest.first?.field.isDocumentID ?? false
        var plan = QueryPlan(
            source: .index(scope), range: KeyRange(prefix: prefix),
            reverse: byName && rest[0].descending, delivered: byName ? .everything : .nothing)
        if byName, rest.count == orders.count {
            plan.range = plan.range.intersection(nameBounds([], scope: scope, prefix: prefix))
        }
        return plan
    }

    /// The entries of one field, as far as conditions and, where it is the first order, cursors allow.
    private func fieldRange(
        _ field: FieldPath, _ leaves: [QueryLeaf], order: Query.Order?
    ) -> QueryPlan {
        let scope = IndexScope.collection(collection.string)
        let prefix = IndexScope.prefix(ofCollection: collection.string, field: field, ofElements: false)
        var range = KeyRange(prefix: prefix)
        for leaf in leaves where leaf.field == field {
            guard case .compare(let comparison, let value) = leaf.test else { continue }
            range = range.intersection(Self.bounds(comparison, value, prefix: prefix))
        }
        guard let order else { return QueryPlan(source: .index(scope), range: range, delivered: .nothing) }
        for (cursor, isStart) in [(query.start, true), (query.end, false)] {
            guard let cursor, let value = cursor.values.first else { continue }
            let isLower = isStart != order.descending
            // With more values, or with a cut one, documents of this very value can be on either side.
            let excludesEqual = cursor.values.count == 1 && cursor.before != isStart
            range = range.intersection(
                Self.bound(value, prefix: prefix, isLower: isLower, excludesEqual: excludesEqual))
        }
        let isWhole = orders.count > 1 && orders[1].field.isDocumentID && orders[1].descending == order.descending
        return QueryPlan(
            source: .index(scope), range: range, reverse: order.descending,
            delivered: isWhole ? .everything : .firstOrder)
    }

    private func documentRange(_ leaves: [QueryLeaf], scope: IndexScope) -> QueryPlan {
        let prefix: [UInt8]
        let source: QueryPlan.Source
        switch scope {
        case .collection(let path):
            prefix = DocumentKeys.prefix(ofCollection: path)
            source = .documents(collection)
        case .group(let id):
            prefix = IndexScope.groupPrefix(id)
            source = .index(scope)
        }
        return QueryPlan(
            source: source, range: nameBounds(leaves, scope: scope, prefix: prefix),
            reverse: orders[0].descending, delivered: orders[0].field.isDocumentID ? .everything : .nothing)
    }

    /// What conditions on the name, cursors by it and the parent leave of the keys with a prefix and a document.
    private func nameBounds(_ leaves: [QueryLeaf], scope: IndexScope, prefix: [UInt8]) -> KeyRange {
        var range = KeyRange(prefix: prefix)
        if case .group = scope, let parent = query.parent {
            range = range.intersection(KeyRange(prefix: prefix + scope.suffix(of: parent)))
        }
        func narrow(to path: DocumentPath, isLower: Bool) {
            // A collection's keys hold ids, which say nothing about documents of other collections.
            if case .collection = scope, path.parent != collection { return }
            let key = prefix + scope.suffix(of: path)
            range = range.intersection(
                isLower ? KeyRange(lower: key, upper: nil) : KeyRange(lower: [], upper: key + [0]))
        }
        for leaf in leaves where leaf.field.isDocumentID {
            guard case .compare(let comparison, let value) = leaf.test, let path = try? name(value) else { continue }
            switch comparison {
            case .greaterThan, .greaterThanOrEqual: narrow(to: path, isLower: true)
            case .lessThan, .lessThanOrEqual: narrow(to: path, isLower: false)
            default: break
            }
        }
        if orders[0].field.isDocumentID {
            for (cursor, isStart) in [(query.start, true), (query.end, false)] {
                guard let value = cursor?.values.first, let path = try? name(value) else { continue }
                narrow(to: path, isLower: isStart != orders[0].descending)
            }
        }
        return range
    }

    private static func bounds(_ comparison: Query.Operator, _ value: Value, prefix: [UInt8]) -> KeyRange {
        let ofClass = KeyRange(prefix: prefix + [ValueKey.prefix(of: value.valueClass)])
        return switch comparison {
        case .greaterThan: ofClass.intersection(bound(value, prefix: prefix, isLower: true, excludesEqual: true))
        case .greaterThanOrEqual:
            ofClass.intersection(bound(value, prefix: prefix, isLower: true, excludesEqual: false))
        case .lessThan: ofClass.intersection(bound(value, prefix: prefix, isLower: false, excludesEqual: true))
        case .lessThanOrEqual:
            ofClass.intersection(bound(value, prefix: prefix, isLower: false, excludesEqual: false))
        default: KeyRange(prefix: prefix)
        }
    }

    private static func bound(
        _ value: Value, prefix: [UInt8], isLower: Bool, excludesEqual: Bool
    ) -> KeyRange {
        let (valueKey, truncated) = ValueKey.indexed(value)
        let key = prefix + valueKey
        // Equal bytes of a cut value may stand for either side.
        let excludes = excludesEqual && !truncated
        let after = KeyBytes.successor(ofPrefix: key)
        if isLower { return KeyRange(lower: excludes ? after ?? key : key, upper: nil) }
        return KeyRange(lower: [], upper: excludes ? key : after)
    }
}

extension KeyRange {
    func intersection(_ other: KeyRange) -> KeyRange {
        let lower = self.lower.lexicographicallyPrecedes(other.lower) ? other.lower : self.lower
        guard let upper, let otherUpper = other.upper else {
            return KeyRange(lower: lower, upper: self.upper ?? other.upper)
        }
        return KeyRange(lower: lower, upper: upper.lexicographicallyPrecedes(otherUpper) ? upper : otherUpper)
    }
}
