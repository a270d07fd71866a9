import RealtimeModel
import RealtimeStore
import SecurityRules

/// A state of the tree as rules read it: only the rows that they look at are read.
struct SnapshotRulesData: DatabaseRulesData {
    let snapshot: RealtimeSnapshot

    func value(at path: ArraySlice<String>) throws -> DatabaseRulesValue {
        switch try snapshot.content(at: Self.path(path)) {
        case .nothing: .null
        case .leaf(let leaf): DatabaseRulesValue(leaf)
        case .object: .object
        }
    }

    func priority(at path: ArraySlice<String>) throws -> DatabaseRulesValue {
        try snapshot.priority(at: Self.path(path)).map { DatabaseRulesValue($0.leaf) } ?? .null
    }

    func childNames(at path: ArraySlice<String>, limit: Int) throws -> [String] {
        try snapshot.childKeys(at: Self.path(path), limit: limit).map(\.string)
    }

    private static func path(_ segments: ArraySlice<String>) -> RealtimePath {
        RealtimePath(unchecked: segments.map { RealtimeKey(unchecked: $0) })
    }
}

extension DatabaseRulesValue {
    init(_ leaf: RealtimeLeaf) {
        switch leaf {
        case .boolean(let value): self = .boolean(value)
        case .number(let number): self = number.integer.map { .integer($0) } ?? .double(number.double)
        case .string(let text): self = .string(text)
        }
    }
}

extension DatabaseRulesQuery {
    /// A query as rules see it.
    init(_ query: RealtimeQuery) {
        let order: Order =
            switch query.index {
            case .key: .key
            case .value: .value
            case .priority: .priority
            case .child(let path): .child(path.string)
            }
        func bound(_ bound: RealtimeQuery.Bound?) -> (value: DatabaseRulesValue, isInclusive: Bool)? {
            guard let bound else { return nil }
            if query.index == .key {
                guard case .key(let key) = bound.key else { return nil }
                return (.string(key.string), bound.isInclusive)
            }
            return (bound.value.map { DatabaseRulesValue($0) } ?? .null, bound.isInclusive)
        }
        var (first, last): (Int?, Int?) = (nil, nil)
        switch query.limit {
        case .first(let limit): first = limit
        case .last(let limit): last = limit
        case nil: break
        }
        self.init(
            order: order, start: bound(query.start), end: bound(query.end), limitToFirst: first, limitToLast: last)
    }
}
