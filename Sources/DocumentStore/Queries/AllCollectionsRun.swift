import DocumentModel

/// A query over all collections below a document, or over all there are: by names, which is all that their documents have
/// in common. Firebase's clients find with it what `recursiveDelete` deletes.
struct AllCollectionsQuery {
    private let query: Query
    /// The same query of a collection group: what the conditions and cursors mean doesn't depend on the collection.
    private let names: NormalizedQuery

    /// - Throws: `invalidArgument` if the query has conditions or orders on fields.
    init(_ query: Query) throws(DocumentError) {
        self.query = query
        var group = query
        group.collectionID = "any"
        names = try NormalizedQuery(group)
        for leaf in names.disjuncts.joined() where !leaf.field.isDocumentID {
            throw .invalidArgument(
                "a query over all collections can only filter by __name__; \(leaf.field) needs a collection")
        }
        guard names.orders == [Query.Order(.documentID)] else {
            throw .invalidArgument("a query over all collections can only be ordered by __name__, ascending")
        }
    }

    func run(in view: DocumentView, within budget: ReadBudget, _ meter: QueryMeter) throws -> [Document] {
        if query.limit == 0 { return [] }
        let needed = (query.limit ?? .max).addingReportingOverflow(query.offset)
        var documents = try walked(
            in: view, atMost: needed.overflow ? .max : needed.partialValue, within: budget, meter)
        if view.past != nil {
            documents += try replaced(in: view, within: budget.beforeAnswer, meter)
            documents.sort { DocumentPath.compare($0.path, $1.path) == .ascending }
        }
        var budget = budget
        return try documents.dropFirst(query.offset).prefix(query.limit ?? .max).map { document in
            try budget.take(document.weight)
            return document
        }
    }

    /// The first documents that are stored as the view sees them.
    private func walked(
        in view: DocumentView, atMost limit: Int, within budget: ReadBudget, _ meter: QueryMeter
    ) throws -> [Document] {
        var budget = budget.beforeAnswer
        var documents: [Document] = []
        let walk = DescendantWalk(below: query.parent, in: view.storage)
        let (lower, upper) = bounds
        // A bound outside of what is walked is checked like any other condition.
        var found = try lower.flatMap { walk.segments(of: $0) }.map { try walk.first(from: $0) } ?? walk.next(after: [])
        while let place = found, documents.count < limit {
            try meter.readEntries(4)
            let path = try DocumentKeys.checkedPath(of: place.key)
            if let upper, DocumentPath.compare(path, upper) == .descending { break }
            if try includes(path) {
                try meter.readDocument(place.stored.count)
                let document = try StoredDocument.decode(place.stored, path: path)
                if view.sees(document) {
                    let projected = names.project(document)
                    try budget.take(projected.weight)
                    documents.append(projected)
                }
            }
            found = try walk.next(after: place.segments)
        }
        return documents
    }

    /// The earlier states of documents that were changed or deleted since.
    private func replaced(in view: DocumentView, within budget: ReadBudget, _ meter: QueryMeter) throws -> [Document] {
        var budget = budget
        var documents: [Document] = []
        try view.forEachReplaced(CoverFilter(below: query.parent), meter) { document in
            guard try includes(document.path) else { return }
            let projected = names.project(document)
            try budget.take(projected.weight)
            documents.append(projected)
        }
        return documents
    }

    private func includes(_ path: DocumentPath) throws -> Bool {
        let document = Document(
            path: path, fields: [:], createTime: Timestamp(microseconds: 0), updateTime: Timestamp(microseconds: 0))
        return names.disjuncts.contains { leaves in leaves.allSatisfy { names.matches(document, $0) } }
            && names.isBetweenCursors(names.place(of: document))
    }

    /// Names that are at most the first and at least the last of the result.
    private var bounds: (lower: DocumentPath?, upper: DocumentPath?) {
        var lower = names.query.start?.values.first.flatMap { try? names.name($0) }
        var upper = names.query.end?.values.first.flatMap { try? names.name($0) }
        guard names.disjuncts.count == 1 else { return (lower, upper) }
        for leaf in names.disjuncts[0] {
            guard case .compare(let comparison, let value) = leaf.test, let name = try? names.name(value) else {
                continue
            }
            if [.greaterThan, .greaterThanOrEqual, .equal].contains(comparison) {
                lower = lower.map { DocumentPath.compare($0, name) == .descending ? $0 : name } ?? name
            }
            if [.lessThan, .lessThanOrEqual, .equal].contains(comparison) {
                upper = upper.map { DocumentPath.compare($0, name) == .ascending ? $0 : name } ?? name
            }
        }
        return (lower, upper)
    }
}

extension DocumentStore {
    /// For admins only, and not in a transaction: those name their collections.
    ///
    /// - Returns: nil if the snapshot doesn't hold the state yet.
    func allCollections(
        _ query: Query, _ consistency: ReadConsistency, _ context: OperationContext, _ view: DocumentView,
        _ version: Int64
    ) throws -> QueryAnswer? {
        guard context.policy == nil else {
            throw DocumentError(.permissionDenied, "Missing or insufficient permissions.")
        }
        if case .transaction = consistency {
            throw DocumentError.invalidArgument("a query over all collections can't be part of a transaction")
        }
        guard let state = try state(consistency, ReadSet(), context, view, version, check: { _, _ in }) else {
            return nil
        }
        let documents = try AllCollectionsQuery(query).run(
            in: state.view, within: ReadBudget(configuration.maxReadBytes, answer: context.answer),
            parts.meter(context))
        return QueryAnswer(documents: documents, readTime: state.time)
    }
}
