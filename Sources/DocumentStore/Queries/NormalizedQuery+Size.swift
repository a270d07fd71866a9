import DocumentModel

extension NormalizedQuery {
    /// About the bytes that the query takes in memory, as it was asked and as it was normalized.
    var heldBytes: Int {
        var bytes = 1024 + (query.parent?.string.utf8.count ?? 0) + query.collectionID.utf8.count
        if let filter = query.filter { bytes += Self.size(of: filter) }
        // The conjunctions share the filter's names and values, and have a place for each of their conditions.
        bytes += disjuncts.reduce(0) { $0 + $1.count * MemoryLayout<QueryLeaf>.stride }
        for order in query.orderBy { bytes += Self.size(of: order.field) }
        for cursor in [query.start, query.end] {
            bytes += cursor?.values.reduce(0) { $0 + Self.size(of: $1) } ?? 0
        }
        // The mask has each name once more.
        for field in query.projection ?? [] { bytes += 2 * Self.size(of: field) }
        return bytes
    }

    private static func size(of filter: Query.Filter) -> Int {
        switch filter {
        case .and(let filters), .or(let filters): filters.reduce(64) { $0 + size(of: $1) }
        case .field(let field, _, let value): size(of: field) + size(of: value)
        case .unary(let field, _): size(of: field)
        }
    }

    private static func size(of field: FieldPath) -> Int { field.segments.reduce(64) { $0 + 16 + $1.utf8.count } }

    /// A null counts as one byte of a document, and takes as much memory as any other value.
    private static func size(of value: Value) -> Int {
        switch value {
        case .array(let elements): elements.reduce(64) { $0 + size(of: $1) }
        case .map(let fields): fields.reduce(64) { $0 + 32 + $1.key.utf8.count + size(of: $1.value) }
        default: MemoryLayout<Value>.stride + DocumentLimits.size(of: value)
        }
    }
}
