import DocumentModel

/// Listeners by the document, collection and group that they follow, and by a value that a field must have: a change
/// elsewhere costs nothing per listener.
struct ListenerTable {
    /// The queries on one collection or group.
    private struct Queries {
        /// Those that any change may concern.
        var any: Set<UInt64> = []
        /// Those that need a field to have a value, by the value's key, which may be cut.
        var equal: [FieldPath: [[UInt8]: Set<UInt64>]] = [:]

        var isEmpty: Bool { any.isEmpty && equal.isEmpty }
    }

    private var documents: [DocumentPath: Set<UInt64>] = [:]
    private var collections: [CollectionPath: Queries] = [:]
    private var groups: [String: Queries] = [:]

    mutating func insert(_ id: UInt64, _ target: ListenerTarget) {
        change(target) { $0.insert(id) }
    }

    mutating func remove(_ id: UInt64, _ target: ListenerTarget) {
        change(target) { $0.remove(id) }
    }

    /// The listeners that changes may concern, each with the indices of its changes.
    struct Concerned {
        /// Listeners that all have the same changes.
        var shared: [(listeners: Set<UInt64>, changes: [Int])] = []
        var own: [UInt64: [Int]] = [:]
    }

    func concerned(by changes: [RecentChanges.Entry]) -> Concerned {
        var concerned = Concerned()
        var (inCollections, inGroups): ([CollectionPath: [Int]], [String: [Int]]) = ([:], [:])
        for (index, change) in changes.enumerated() {
            if !documents.isEmpty, let ids = documents[change.change.path] {
                for id in ids { concerned.own[id, default: []].append(index) }
            }
            if !collections.isEmpty, let queries = collections[change.collection] {
                if !queries.any.isEmpty { inCollections[change.collection, default: []].append(index) }
                Self.add(index, change.change, queries, to: &concerned)
            }
            if !groups.isEmpty, let queries = groups[change.group] {
                if !queries.any.isEmpty { inGroups[change.group, default: []].append(index) }
                Self.add(index, change.change, queries, to: &concerned)
            }
        }
        for (path, changes) in inCollections { concerned.shared.append((collections[path]?.any ?? [], changes)) }
        for (id, changes) in inGroups { concerned.shared.append((groups[id]?.any ?? [], changes)) }
        return concerned
    }

    private static func add(
        _ index: Int, _ change: DocumentChange, _ queries: Queries, to concerned: inout Concerned
    ) {
        for (field, byKey) in queries.equal {
            let before = change.before.flatMap { $0[field] }.map { ValueKey.indexed($0).key }
            let after = change.after.flatMap { $0[field] }.map { ValueKey.indexed($0).key }
            let keys = before == after ? [before] : [before, after]
            for key in keys {
                guard let key, let ids = byKey[key] else { continue }
                for id in ids { concerned.own[id, default: []].append(index) }
            }
        }
    }

    private mutating func change(_ target: ListenerTarget, _ body: (inout Set<UInt64>) -> Void) {
        switch target {
        case .documents(let paths):
            for path in paths { Self.change(&documents[path], body) }
        case .query(let query): change(query, body)
        case .window(let window): change(window.query, body)
        }
    }

    private mutating func change(_ query: NormalizedQuery, _ body: (inout Set<UInt64>) -> Void) {
        if query.query.allDescendants {
            Self.change(&groups[query.query.collectionID], query.neededValue, body)
        } else {
            Self.change(&collections[query.collection], query.neededValue, body)
        }
    }

    private static func change(
        _ queries: inout Queries?, _ needed: (field: FieldPath, value: Value)?, _ body: (inout Set<UInt64>) -> Void
    ) {
        var changed = queries ?? Queries()
        queries = nil
        if let needed {
            change(&changed.equal[needed.field, default: [:]][ValueKey.indexed(needed.value).key], body)
            if changed.equal[needed.field]?.isEmpty ?? false { changed.equal[needed.field] = nil }
        } else {
            body(&changed.any)
        }
        queries = changed.isEmpty ? nil : changed
    }

    private static func change(_ ids: inout Set<UInt64>?, _ body: (inout Set<UInt64>) -> Void) {
        var changed = ids ?? []
        ids = nil
        body(&changed)
        ids = changed.isEmpty ? nil : changed
    }
}

extension NormalizedQuery {
    /// A value that each document of the result has in a field; nil if there is none such.
    fileprivate var neededValue: (field: FieldPath, value: Value)? {
        guard disjuncts.count == 1 else { return nil }
        for leaf in disjuncts[0] where !leaf.field.isDocumentID {
            if let value = leaf.equalValue { return (leaf.field, value) }
        }
        return nil
    }
}
