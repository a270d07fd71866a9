import DocumentModel

/// What a commit costs the writer, about: the documents and index entries that it changes.
struct CommitCost {
    private(set) var total = 0
    private let catalog: IndexCatalog

    init(_ catalog: IndexCatalog) { self.catalog = catalog }

    init(_ changes: [DocumentChange], _ catalog: IndexCatalog) {
        self.init(catalog)
        for change in changes { add(change) }
    }

    mutating func add(_ change: DocumentChange) {
        total += 1
        let (before, after) = (change.before?.fields ?? [:], change.after?.fields ?? [:])
        let indexes = catalog.of(change.path)
        for (name, value) in before where after[name] != value { add(value, indexes?.kept.rules(below: name)) }
        for (name, value) in after where before[name] != value { add(value, indexes?.kept.rules(below: name)) }
        for index in indexes?.written ?? [] { total += entries(before, index) + entries(after, index) }
    }

    private mutating func add(_ value: Value, _ rules: FieldRules?) {
        if rules?.isOrdered ?? true { total += 1 }
        switch value {
        case .array(let elements) where rules?.hasElements ?? true: total += elements.count
        case .map(let fields) where value.vectorElements == nil:
            for (name, value) in fields { add(value, rules?.rules(below: name)) }
        default: break
        }
    }

    /// At most the entries that a document has in a composite index.
    private func entries(_ fields: [String: Value], _ index: IndexCatalog.Index) -> Int {
        guard !fields.isEmpty else { return 0 }
        guard let contained = index.definition.fields.first(where: { $0.kind == .contains }) else { return 1 }
        guard case .array(let elements)? = Value.map(fields)[contained.path] else { return 0 }
        return elements.count
    }

    /// Refuses a client's commit that costs too much.
    static func check(_ cost: Int, _ limit: Int) throws(DocumentError) {
        guard cost > limit else { return }
        throw DocumentError(
            .resourceExhausted,
            "a client's commit may change \(limit) documents and index entries, the limit, and this one changes about "
                + "\(cost); commit fewer at a time")
    }
}
