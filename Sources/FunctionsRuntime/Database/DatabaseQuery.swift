import DocumentModel
import RealtimeModel
public import StrictJSON
import WorkerProtocol

/// A reference, or a query of its children.
public protocol DatabaseQueryable: Sendable {
    var query: DatabaseQuery { get }
}

/// Some of a reference's children, in an order: by priority unless another is asked for.
///
///     let top = try await database.reference(withPath: "posts").queryOrdered(byChild: "stars").queryLimited(toLast: 10).getData()
///
/// A query without an index in the rules looks at all children, up to a limit, and is logged with the line to add.
public struct DatabaseQuery: Sendable, DatabaseQueryable {
    public let ref: DatabaseReference
    var wire: RealtimeQuery
    fileprivate var start: End?
    fileprivate var end: End?
    /// What can't be asked for.
    private var problem: DocumentError?

    /// One end of the range as it was asked for. What it means depends on the order, which may be asked for later.
    fileprivate struct End {
        var value: JSONValue?
        var key: String?
        var isInclusive: Bool
    }

    init(_ ref: DatabaseReference, _ wire: RealtimeQuery) {
        self.ref = ref
        self.wire = wire
    }

    public var query: DatabaseQuery { self }

    func request(
        _ operation: DatabaseRequest.Operation, wantsHash: Bool = false
    ) throws(DocumentError) -> DatabaseRequest {
        if let problem { throw problem }
        var query: [UInt8]?
        if !wire.isDefault {
            var writer = JSONWriter(capacity: 64)
            writer.realtime(wire)
            query = writer.bytes
        }
        return DatabaseRequest(
            operation, instance: ref.database.instance, target: ref.path, query: query, wantsHash: wantsHash)
    }

    /// The snapshot of an answer.
    func snapshot(_ json: [UInt8]) throws(DocumentError) -> DataSnapshot {
        do {
            let path = try RealtimePath(ref.path)
            let value = try RealtimeWriteValue(parsing: json, at: RealtimeTarget(path))
            return DataSnapshot(
                value.resolved(now: 0, existing: nil), in: ref.database, at: path, orderedBy: wire.index)
        } catch {
            throw .invalidArgument("\(error)")
        }
    }

    fileprivate func with(_ change: (inout DatabaseQuery) throws(DocumentError) -> Void) -> DatabaseQuery {
        var changed = self
        do throws(DocumentError) {
            try change(&changed)
            if let start = changed.start { changed.wire.start = try changed.bound(start, isStart: true) }
            if let end = changed.end { changed.wire.end = try changed.bound(end, isStart: false) }
        } catch {
            changed.problem = problem ?? error
        }
        return changed
    }

    private func bound(_ end: End, isStart: Bool) throws(DocumentError) -> RealtimeQuery.Bound {
        let (key, isInclusive) = (end.key, end.isInclusive)
        let leaf: RealtimeLeaf?
        switch end.value {
        case nil, .null?: leaf = nil
        case .bool(let value)?: leaf = .boolean(value)
        case .integer(let value)?: leaf = .number(RealtimeNumber(value))
        case .unsigned(let value)?: leaf = .number(RealtimeNumber(Double(value)))
        case .double(let value)? where value.isFinite: leaf = .number(RealtimeNumber(value))
        case .string(let value)?: leaf = .string(value)
        default: throw .invalidArgument("a query's bound is a string, a number or a boolean, or nil")
        }
        if wire.index == .key {
            guard case .string(let name)? = leaf, key == nil else {
                throw .invalidArgument("the bound of a query that is ordered by key is a key")
            }
            return .init(value: nil, key: .key(RealtimeKey(unchecked: name)), isInclusive: isInclusive)
        }
        let edge: RealtimeQuery.BoundKey = isStart == isInclusive ? .minimum : .maximum
        let bound = key.map { RealtimeQuery.BoundKey.key(RealtimeKey(unchecked: $0)) } ?? edge
        return .init(value: leaf, key: bound, isInclusive: key == nil || isInclusive)
    }
}

extension DatabaseQueryable {
    /// What exists now.
    public func getData() async throws(DocumentError) -> DataSnapshot {
        guard case .value(let json, _, _) = try await query.ref.database.send(try query.request(.get)) else {
            throw DatabaseAnswer.unexpected
        }
        return try query.snapshot(json)
    }

    /// What exists now, decoded as a `Codable` type.
    ///
    /// - Throws: as ``DataSnapshot/data(as:)``, and `DocumentError` if it can't be read.
    public func data<T: Decodable>(as type: T.Type = T.self) async throws -> T { try await getData().data(as: type) }

    // MARK: Order

    /// By the value at a path below each child.
    public func queryOrdered(byChild path: String) -> DatabaseQuery {
        query.with { query throws(DocumentError) in
            guard let path = try? RealtimePath(path), !path.isRoot else {
                throw .invalidArgument("children can't be ordered by \"\(path)\"; name a path below them")
            }
            query.wire.index = .child(path)
        }
    }

    public func queryOrderedByKey() -> DatabaseQuery { query.with { $0.wire.index = .key } }
    public func queryOrderedByValue() -> DatabaseQuery { query.with { $0.wire.index = .value } }
    public func queryOrderedByPriority() -> DatabaseQuery { query.with { $0.wire.index = .priority } }

    // MARK: Range

    /// - Parameters:
    ///   - value: what the children are ordered by.
    ///   - key: of those with equal values, the one at which the query begins.
    public func queryStarting(atValue value: JSONValue?, childKey key: String? = nil) -> DatabaseQuery {
        query.with { $0.start = .init(value: value, key: key, isInclusive: true) }
    }

    public func queryStarting(afterValue value: JSONValue?, childKey key: String? = nil) -> DatabaseQuery {
        query.with { $0.start = .init(value: value, key: key, isInclusive: false) }
    }

    public func queryEnding(atValue value: JSONValue?, childKey key: String? = nil) -> DatabaseQuery {
        query.with { $0.end = .init(value: value, key: key, isInclusive: true) }
    }

    public func queryEnding(beforeValue value: JSONValue?, childKey key: String? = nil) -> DatabaseQuery {
        query.with { $0.end = .init(value: value, key: key, isInclusive: false) }
    }

    public func queryEqual(toValue value: JSONValue?, childKey key: String? = nil) -> DatabaseQuery {
        queryStarting(atValue: value, childKey: key).queryEnding(atValue: value, childKey: key)
    }

    // MARK: Limit

    public func queryLimited(toFirst count: Int) -> DatabaseQuery { limited(.first(count), count) }
    public func queryLimited(toLast count: Int) -> DatabaseQuery { limited(.last(count), count) }

    private func limited(_ limit: RealtimeQuery.Limit, _ count: Int) -> DatabaseQuery {
        query.with { query throws(DocumentError) in
            guard count > 0 else { throw .invalidArgument("a query's limit is \(count); it must be at least 1") }
            query.wire.limit = limit
        }
    }
}
