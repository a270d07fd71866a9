import DocumentModel

/// The target of one listener, with the state that it needs.
enum ListenerTarget {
    case documents(Set<DocumentPath>)
    /// The whole result of a query needs no state.
    case query(NormalizedQuery)
    case window(QueryWindow)

    init(_ target: ListenTarget) throws(DocumentError) {
        switch target {
        case .documents(let paths): self = .documents(paths)
        case .query(let query):
            let normalized = try NormalizedQuery(query)
            self = query.limit == nil && query.offset == 0 ? .query(normalized) : .window(QueryWindow(normalized))
        }
    }

    /// Selects the documents that concern the listener, by their keys.
    var covers: (ArraySlice<UInt8>) -> Bool {
        switch self {
        case .documents(let paths):
            let keys = Set(paths.map { DocumentKeys.key(of: $0) })
            return { keys.contains(Array($0)) }
        case .query(let query): return CoverFilter(query).covers
        case .window(let window): return CoverFilter(window.query).covers
        }
    }

    /// Checks whether the policy allows listening.
    ///
    /// - Parameter meter: ends the check of many documents.
    func check(_ policy: any AccessPolicy, _ access: AccessView, in view: DocumentView, _ meter: QueryMeter) throws {
        switch self {
        case .documents(let paths):
            for path in paths {
                try policy.check(.get(path, try view.document(path, meter)), in: access)
                try meter.noteDecision()
            }
        case .query(let query): try policy.check(.list(query.query), in: access)
        case .window(let window): try policy.check(.list(window.query.query), in: access)
        }
    }

    /// Reads the current result; a window keeps it.
    mutating func begin(
        in view: DocumentView, within budget: ReadBudget, _ meter: QueryMeter
    ) throws -> [Document] {
        switch self {
        case .documents(let paths):
            var budget = budget
            return try paths.sorted { DocumentPath.compare($0, $1) == .ascending }
                .compactMap { try view.document($0, within: &budget) }
        case .query(let query): return try query.run(in: view, within: budget, meter: meter)
        case .window(var window):
            window.fill(try window.source().run(in: view, within: budget, meter: meter))
            self = .window(window)
            return window.visible.map { window.query.project($0.document) }
        }
    }

    /// Whether the window lacks documents after these changes, one for each document, and must be read again.
    func isShort(after changes: [DocumentChange]) -> Bool {
        guard case .window(var window) = self else { return false }
        return window.apply(changes) == .short
    }

    /// The effect of changes, one for each document, on the result.
    ///
    /// - Parameter refill: reads the documents of a query in their state after the changes.
    mutating func apply(
        _ changes: [DocumentChange], refill: (NormalizedQuery) throws -> [Document]
    ) throws -> [ListenChange] {
        switch self {
        case .documents(let paths):
            let sorted = changes.filter { paths.contains($0.path) }
                .sorted { DocumentPath.compare($0.path, $1.path) == .ascending }
            // Removed documents come first, as with queries.
            return sorted.filter { $0.after == nil }.compactMap(\.ofDocument)
                + sorted.filter { $0.after != nil }.compactMap(\.ofDocument)
        case .query(let query): return query.difference(changes)
        case .window(var window):
            let old = Array(window.visible)
            switch window.apply(changes) {
            case .unchanged: return []
            case .changed: break
            case .short: window.fill(try refill(try window.source()))
            }
            self = .window(window)
            let deleted = Set(changes.lazy.filter { $0.after == nil }.map(\.path))
            return QueryWindow.difference(from: old, to: Array(window.visible), of: window.query) {
                deleted.contains($0)
            }
        }
    }
}

extension DocumentChange {
    /// The change as a listener on the document receives it.
    fileprivate var ofDocument: ListenChange? {
        switch (before, after) {
        case (nil, let after?): .added(after)
        case (_?, let after?): .modified(after)
        case (let before?, nil): .removed(before, deleted: true)
        case (nil, nil): nil
        }
    }
}
