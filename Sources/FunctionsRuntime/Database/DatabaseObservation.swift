import DocumentModel
import RealtimeModel
import WorkerProtocol

/// What is observed.
public enum DataEventType: Sendable, Hashable {
    /// All that exists, now and after each change.
    case value
    /// Each child that exists, and then each new one.
    case childAdded
    /// Each child whose value changes.
    case childChanged
    /// Each child that is removed, as it was.
    case childRemoved
    /// Each child that changes its place in the order.
    case childMoved
}

extension DatabaseQueryable {
    /// Follows what exists, from now on.
    ///
    ///     for try await room in database.reference(withPath: "rooms/lobby").observe(.value) { … }
    ///
    /// The sequence ends with the invocation, or with its task. It throws `DocumentError` if what is observed has more than
    /// 16 MiB, or if more than that waits because the loop is slower than the changes.
    public func observe(_ type: DataEventType) -> DatabaseObservation {
        DatabaseObservation(query: query, type: type)
    }
}

/// The snapshots that ``DatabaseQueryable/observe(_:)`` sends.
public struct DatabaseObservation: AsyncSequence, Sendable {
    public typealias Element = DataSnapshot

    let query: DatabaseQuery
    let type: DataEventType

    public func makeAsyncIterator() -> Iterator { Iterator(query, type) }

    public struct Iterator: AsyncIteratorProtocol {
        private let follower: Follower

        init(_ query: DatabaseQuery, _ type: DataEventType) { follower = Follower(query, type) }

        public mutating func next() async throws -> DataSnapshot? { try await follower.next() }
    }
}

@available(*, unavailable)
extension DatabaseObservation.Iterator: Sendable {}

/// What one iterator has of an observation. It ends with the iterator.
private final class Follower {
    private let query: DatabaseQuery
    private let type: DataEventType
    /// As the database has it; nil before the first question.
    private var observation: UInt64?
    private var path = RealtimePath.root
    private var node: RealtimeNode?
    private var isFirst = true
    /// A slice, because an array would move all that follow for each one that is taken.
    private var waiting: ArraySlice<DataSnapshot> = []
    /// Whether it has failed: what it missed is unknown, so that nothing can follow.
    private var hasFailed = false

    init(_ query: DatabaseQuery, _ type: DataEventType) {
        self.query = query
        self.type = type
    }

    deinit {
        guard let observation else { return }
        let database = query.ref.database
        Task { try? await database.write(DatabaseRequest(.end, instance: database.instance, observation: observation)) }
    }

    func next() async throws(DocumentError) -> DataSnapshot? {
        while waiting.isEmpty {
            guard !Task.isCancelled, !hasFailed else { return nil }
            do {
                try await advance()
            } catch {
                hasFailed = true
                // The invocation is over.
                if error.code == .cancelled { return nil }
                throw error
            }
        }
        return waiting.popFirst()
    }

    private func advance() async throws(DocumentError) {
        let database = query.ref.database
        let answer = try await database.send(
            DatabaseRequest(.next, instance: database.instance, observation: try await begun()))
        guard case .changes(let settings) = answer else { throw DatabaseAnswer.unexpected }
        let old = node
        // The children that may have changed; nil for all.
        var keys: Set<RealtimeKey>? = []
        do throws(RealtimeError) {
            for setting in settings {
                if let key = try apply(setting).path.keys.first { keys?.insert(key) } else { keys = nil }
            }
        } catch {
            throw DocumentError(.internal, "a change that was observed can't be read: \(error)")
        }
        waiting =
            type.snapshots(
                from: old, to: node, ofChildren: keys, in: database, at: path, query.wire.index, isFirst: isFirst)[...]
        isFirst = false
    }

    /// - Returns: What was set, from the observed place.
    private func apply(_ setting: ReferenceChange.Setting) throws(RealtimeError) -> RealtimeTarget {
        let target = try RealtimeTarget(setting.target)
        var value: RealtimeNode?
        if let json = setting.value {
            let place = RealtimeTarget(path).appending(target)
            value = try RealtimeWriteValue(parsing: json, at: place).resolved(now: 0, existing: nil)
        }
        node.set(value, at: target)
        return target
    }

    private func begun() async throws(DocumentError) -> UInt64 {
        if let observation { return observation }
        do throws(RealtimeError) {
            path = try RealtimePath(query.ref.path)
        } catch {
            throw .invalidArgument("\(error)")
        }
        guard case .observing(let id) = try await query.ref.database.send(try query.request(.observe)) else {
            throw DatabaseAnswer.unexpected
        }
        observation = id
        return id
    }
}

extension DataEventType {
    /// What a change from one value to another sends.
    ///
    /// - Parameter keys: Those of the children that may have changed, since the others may be very many; nil for all.
    fileprivate func snapshots(
        from old: RealtimeNode?, to new: RealtimeNode?, ofChildren keys: Set<RealtimeKey>?, in database: Database,
        at path: RealtimePath, _ index: RealtimeQuery.Index, isFirst: Bool
    ) -> [DataSnapshot] {
        let (before, after) = (
            DataSnapshot(old, in: database, at: path, orderedBy: index),
            DataSnapshot(new, in: database, at: path, orderedBy: index)
        )
        func children(of snapshot: DataSnapshot) -> [DataSnapshot] {
            keys.map { snapshot.children(of: $0) } ?? snapshot.children
        }
        func pairs(_ body: (RealtimeNode, RealtimeNode) -> Bool) -> [DataSnapshot] {
            children(of: after).filter { child in
                guard let new = child.node, let key = child.path.keys.last, let was = old?[key] else { return false }
                return body(was, new)
            }
        }
        func missing(_ all: DataSnapshot, in other: RealtimeNode?) -> [DataSnapshot] {
            children(of: all).filter { child in child.path.keys.last.map { other?[$0] == nil } ?? false }
        }
        return switch self {
        case .value: isFirst || old != new ? [after] : []
        case .childAdded: missing(after, in: old)
        case .childRemoved: missing(before, in: new)
        case .childChanged: pairs { $0 != $1 }
        case .childMoved: pairs { index.value(of: $0) != index.value(of: $1) }
        }
    }
}
