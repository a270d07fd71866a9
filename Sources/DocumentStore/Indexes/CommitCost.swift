import DocumentModel

/// What a commit costs the writer, about: the documents and index entries that it writes and deletes (``IndexChanges``).
struct CommitCost {
    private(set) var total = 0
    private let catalog: IndexCatalog

    init(_ changes: [DocumentChange], _ catalog: IndexCatalog) {
        self.catalog = catalog
        for change in changes { add(change) }
    }

    private mutating func add(_ change: DocumentChange) {
        total += 1
        // A group's entry.
        if (change.before == nil) != (change.after == nil), change.path.parent.parent != nil { total += 1 }
        let (before, after) = (change.before?.fields ?? [:], change.after?.fields ?? [:])
        let indexes = catalog.of(change.path)
        var changed: Set<String> = []
        for name in Set(before.keys).union(after.keys) where before[name] != after[name] {
            changed.insert(name)
            add(before[name], after[name], indexes?.possible.rules(below: name), indexes?.kept.rules(below: name))
        }
        for index in indexes?.written ?? []
        where index.definition.fields.contains(where: { changed.contains($0.path.segments[0]) }) {
            add(Composite(before, index.definition), Composite(after, index.definition))
        }
    }

    /// Adds the automatic entries of one field.
    private mutating func add(_ before: Value?, _ after: Value?, _ possible: FieldRules?, _ kept: FieldRules?) {
        guard before != after else { return }
        if before != nil, possible?.isOrdered ?? true { total += 1 }
        if after != nil, kept?.isOrdered ?? true { total += 1 }
        total += Self.difference(
            possible?.hasElements ?? true ? Self.elements(before) : [],
            kept?.hasElements ?? true ? Self.elements(after) : [])
        let (old, new) = (Self.fields(before), Self.fields(after))
        for (name, value) in old {
            add(value, new[name], possible?.rules(below: name), kept?.rules(below: name))
        }
        for (name, value) in new where old[name] == nil {
            add(nil, value, possible?.rules(below: name), kept?.rules(below: name))
        }
    }

    /// Adds the entries of one composite index.
    private mutating func add(_ before: Composite, _ after: Composite) {
        // Each entry has the values of all fields.
        total +=
            before.shared == after.shared
            ? Self.difference(before.elements, after.elements) : before.elements.count + after.elements.count
    }

    /// How many values one list has that the other lacks.
    private static func difference(_ old: [Value], _ new: [Value]) -> Int {
        if old.isEmpty || new.isEmpty { return old.count + new.count }
        return Set(old).symmetricDifference(new).count
    }

    private static func elements(_ value: Value?) -> [Value] {
        if case .array(let elements) = value { elements } else { [] }
    }

    private static func fields(_ value: Value?) -> [String: Value] {
        if case .map(let fields) = value, value?.vectorElements == nil { fields } else { [:] }
    }

    /// A document in a composite index.
    private struct Composite {
        /// The values that all of its entries have.
        private(set) var shared: [Value] = []
        /// A value for each entry: the elements of an array, if the index has one. Empty if a field is missing.
        private(set) var elements: [Value] = []

        init(_ fields: [String: Value], _ definition: IndexDefinition) {
            var (shared, elements) = ([Value](), [Value.null])
            for field in definition.fields {
                guard let value = Value.map(fields)[field.path] else { return }
                guard field.kind == .contains else {
                    shared.append(value)
                    continue
                }
                guard case .array(let contained) = value else { return }
                elements = contained
            }
            (self.shared, self.elements) = (shared, elements)
        }
    }

    /// Refuses a client's commit whose changes cost too much.
    static func check(
        _ changes: [DocumentChange], _ catalog: IndexCatalog, _ configuration: StoreConfiguration
    ) throws(DocumentError) {
        // A document by itself has its own limits.
        guard changes.count > 1 else { return }
        try check(CommitCost(changes, catalog).total, configuration.maxClientCommitCost)
    }

    /// Refuses a client's commit that costs too much.
    ///
    /// - Parameter code: by default one after which SDKs give the commit up. With RESOURCE_EXHAUSTED they send it again
    ///   and again, and no write behind it.
    static func check(
        _ cost: Int, _ limit: Int, refusing code: StatusCode = .invalidArgument
    ) throws(DocumentError) {
        guard cost > limit else { return }
        throw DocumentError(
            code,
            "a client's commit may change \(limit) documents and index entries, the limit, and this one changes about "
                + "\(cost); commit fewer at a time")
    }
}
