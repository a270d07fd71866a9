import DocumentModel

extension NormalizedQuery {
    /// The documents, in order, with the fields asked for.
    ///
    /// - Throws: `StorageError`, or `DecodingFailure` where the store is damaged.
    func run(in view: DocumentView, within budget: ReadBudget = ReadBudget(.max)) throws -> [Document] {
        if query.limit == 0 { return [] }
        var run = QueryRun(query: self, view: view, budget: budget)
        for leaves in disjuncts {
            for plan in plans(for: leaves) { try run.collect(plan) }
        }
        try run.collectPast()
        return try run.finish()
    }
}

/// One run of a query: gathers documents from each of its plans.
private struct QueryRun {
    let query: NormalizedQuery
    let view: DocumentView
    /// How many are enough from one plan that delivers them in order.
    let needed: Int
    var places: [QueryPlace] = []
    var seen: Set<DocumentPath> = []
    var isSorted = true

    /// Taken from as documents are gathered, or at the end where most of what is gathered is dropped again.
    var budget: ReadBudget

    init(query: NormalizedQuery, view: DocumentView, budget: ReadBudget) {
        self.query = query
        self.budget = budget
        self.view = view
        needed = query.query.limit.map { $0 &+ query.query.offset } ?? .max
    }

    mutating func collect(_ plan: QueryPlan) throws {
        if !places.isEmpty || plan.delivered != .everything { isSorted = false }
        switch plan.source {
        case .document(let path):
            if let document = try view.storage.get(.documents, DocumentKeys.key(of: path)) {
                _ = add(try StoredDocument.decode(document, path: path))
            }
        case .documents(let collection): try collectDocuments(plan, of: collection)
        case .index(let scope): try collectIndex(plan, scope)
        }
    }

    private mutating func collectDocuments(_ plan: QueryPlan, of collection: CollectionPath) throws {
        let prefix = DocumentKeys.prefix(ofCollection: collection.string)
        var found = 0
        try view.storage.scan(.documents, plan.range, reverse: plan.reverse) { key, bytes in
            let path = try path(collection.string + "/" + DocumentKeys.text(of: key[prefix.count...]))
            if add(try StoredDocument.decode(bytes, path: path)) {
                found += 1
                try gathered(bytes, plan)
            }
            return found < needed
        }
    }

    private mutating func collectIndex(_ plan: QueryPlan, _ scope: IndexScope) throws {
        var found = 0
        var last: (bytes: ArraySlice<UInt8>, truncated: Bool)?
        try view.storage.scan(.index, plan.range, reverse: plan.reverse) { key, row in
            let entry = try IndexEntry(key: key, row: row)
            if found >= needed {
                switch plan.delivered {
                case .nothing: prune()
                // Entries with the same bytes as the last one may still come before it.
                case .firstOrder: guard entry.valueBytes == last?.bytes else { return false }
                case .everything:
                    guard last?.truncated == true, entry.valueBytes == last?.bytes else { return false }
                }
            }
            let path: DocumentPath
            switch scope {
            case .collection(let collection): path = try self.path(collection + "/" + entry.documentText)
            case .group: path = try self.path(entry.documentText)
            }
            if entry.isTruncated { isSorted = false }
            guard let bytes = try view.storage.get(.documents, DocumentKeys.key(of: path)) else {
                throw DecodingFailure("the index names \(path), which is missing")
            }
            if add(try StoredDocument.decode(bytes, path: path)) {
                found += 1
                try gathered(bytes, plan)
                last = (entry.valueBytes, entry.isTruncated)
            }
            return !(found >= needed && plan.delivered == .everything && !entry.isTruncated)
        }
    }

    /// Adds documents as they were, in place of those that changed since.
    mutating func collectPast() throws {
        let (view, query) = (view, query)
        try view.forEachReplaced(query) { document in
            isSorted = false
            guard addPast(document) else { return }
            if needed == .max { try budget.take(DocumentLimits.size(of: document.fields)) } else { prune() }
        }
    }

    /// A sort in memory that keeps few documents counts them when it is done.
    private mutating func gathered(_ bytes: [UInt8], _ plan: QueryPlan) throws(DocumentError) {
        if plan.delivered == .everything || needed == .max { try budget.take(bytes.count) }
    }

    mutating func finish() throws(DocumentError) -> [Document] {
        let sorted = isSorted ? places : places.sorted { query.compare($0, $1) == .ascending }
        let documents = sorted.dropFirst(query.query.offset).prefix(query.query.limit ?? .max)
            .map { query.project($0.document) }
        if needed != .max && !isSorted {
            for document in documents { try budget.take(DocumentLimits.size(of: document.fields)) }
        }
        return documents
    }

    private mutating func add(_ document: Document) -> Bool {
        guard view.sees(document) else { return false }
        return addPast(document)
    }

    private mutating func addPast(_ document: Document) -> Bool {
        guard query.matches(document) else { return false }
        let place = query.place(of: document)
        guard query.isBetweenCursors(place), seen.insert(document.path).inserted else { return false }
        places.append(place)
        return true
    }

    /// Forgets what can't be in the result any more, so that a sort in memory holds a small part of the collection.
    private mutating func prune() {
        guard places.count > needed &* 4 &+ 1000 else { return }
        let query = query
        places.sort { query.compare($0, $1) == .ascending }
        places.removeLast(places.count - needed)
    }

    private func path(_ string: String) throws(DecodingFailure) -> DocumentPath {
        do { return try DocumentPath(string) } catch { throw DecodingFailure(error.message) }
    }
}
