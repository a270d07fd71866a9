import DocumentModel

/// Listeners by the document, collection and group that they follow, and by a value that a field must have: a change
/// elsewhere costs nothing per listener.
struct ListenerTable<Listener> {
    /// The listeners on one query. A reference, because changes are gathered by its identity: hashing the query for each
    /// change would cost more.
    final class Followers {
        fileprivate(set) var listeners = Listeners()
    }

    typealias Listeners = [UInt64: Listener]

    /// The queries on one collection or group.
    private struct Queries {
        /// Those that any change may concern.
        var any: [Query: Followers] = [:]
        /// Those that need a field to have a value, by the value's key, which may be cut.
        var equal: [FieldPath: [[UInt8]: [Query: Followers]]] = [:]

        var isEmpty: Bool { any.isEmpty && equal.isEmpty }
    }

    private var documents: [DocumentPath: Listeners] = [:]
    private var collections: [CollectionPath: Queries] = [:]
    private var groups: [String: Queries] = [:]

    mutating func insert(_ listener: Listener, _ id: UInt64, on target: ListenerTarget) {
        change(target) { $0[id] = listener }
    }

    mutating func remove(_ id: UInt64, on target: ListenerTarget) {
        change(target) { $0[id] = nil }
    }

    /// The listeners that changes may concern, with the indices of the changes.
    struct Concerned {
        /// Listeners on the same query.
        fileprivate(set) var queries: [ObjectIdentifier: (followers: Followers, changes: [Int])] = [:]
        /// Listeners on documents.
        fileprivate(set) var documents: [UInt64: (listener: Listener, changes: [Int])] = [:]

        fileprivate mutating func add(_ index: Int, _ queries: [Query: Followers]) {
            for followers in queries.values {
                self.queries[ObjectIdentifier(followers), default: (followers, [])].changes.append(index)
            }
        }
    }

    func concerned(by changes: [RecentChanges.Entry]) -> Concerned {
        var concerned = Concerned()
        for (index, change) in changes.enumerated() {
            if !documents.isEmpty, let listeners = documents[change.change.path] {
                for (id, listener) in listeners {
                    concerned.documents[id, default: (listener, [])].changes.append(index)
                }
            }
            if !collections.isEmpty, let queries = collections[change.collection] {
                Self.add(index, change.change, queries, to: &concerned)
            }
            if !groups.isEmpty, let queries = groups[change.group] {
                Self.add(index, change.change, queries, to: &concerned)
            }
        }
        return concerned
    }

    private static func add(
        _ index: Int, _ change: DocumentChange, _ queries: Queries, to concerned: inout Concerned
    ) {
        concerned.add(index, queries.any)
        for (field, byKey) in queries.equal {
            let before = change.before.flatMap { $0[field] }.map { ValueKey.indexed($0).key }
            let after = change.after.flatMap { $0[field] }.map { ValueKey.indexed($0).key }
            if let before, let found = byKey[before] { concerned.add(index, found) }
            if let after, after != before, let found = byKey[after] { concerned.add(index, found) }
        }
    }

    private mutating func change(_ target: ListenerTarget, _ body: (inout Listeners) -> Void) {
        switch target {
        case .documents(let paths):
            for path in paths {
                var listeners = documents.removeValue(forKey: path) ?? [:]
                body(&listeners)
                if !listeners.isEmpty { documents[path] = listeners }
            }
        case .query(let query): change(query, body)
        case .window(let window): change(window.query, body)
        }
    }

    private mutating func change(_ query: NormalizedQuery, _ body: (inout Listeners) -> Void) {
        if query.query.allDescendants {
            Self.change(&groups[query.query.collectionID], query, body)
        } else {
            Self.change(&collections[query.collection], query, body)
        }
    }

    private static func change(
        _ queries: inout Queries?, _ query: NormalizedQuery, _ body: (inout Listeners) -> Void
    ) {
        var changed = queries ?? Queries()
        queries = nil
        if let needed = query.neededValue {
            let key = ValueKey.indexed(needed.value).key
            change(&changed.equal[needed.field, default: [:]][key, default: [:]], query.query, body)
            if changed.equal[needed.field]?[key]?.isEmpty ?? false { changed.equal[needed.field]?[key] = nil }
            if changed.equal[needed.field]?.isEmpty ?? false { changed.equal[needed.field] = nil }
        } else {
            change(&changed.any, query.query, body)
        }
        queries = changed.isEmpty ? nil : changed
    }

    private static func change(
        _ queries: inout [Query: Followers], _ query: Query, _ body: (inout Listeners) -> Void
    ) {
        let followers = queries[query] ?? Followers()
        body(&followers.listeners)
        queries[query] = followers.listeners.isEmpty ? nil : followers
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
