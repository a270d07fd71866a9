import DocumentModel

/// Something that transactions take turns on.
enum TurnKey: Hashable, Sendable {
    case document(DocumentPath)
    /// The collection that a query asks, or the id of a group.
    case collection(String, isGroup: Bool)
}

/// Who is next on which documents: a pure state machine.
///
/// Each member wants all its keys at once and holds none before. Arrival decides: a member gets its turn when no
/// earlier one waits for one of its keys and nobody holds one. The earliest member therefore never waits for a later
/// one, except for holders, who wait for nobody: no deadlock, and everyone's turn comes.
struct TurnQueue: Sendable {
    enum Action: Hashable, Sendable {
        case grant(TransactionID)
    }

    private struct Member {
        var arrival: UInt64
        var keys: Set<TurnKey>
        var holds: Bool
    }

    private var members: [TransactionID: Member] = [:]
    /// Who wants a key, in the order of arrival.
    private var queues: [TurnKey: [TransactionID]] = [:]
    private var arrivals: UInt64 = 0

    var isEmpty: Bool { members.isEmpty }

    /// A transaction asks for its turn.
    mutating func join(_ id: TransactionID, keys: Set<TurnKey>) -> [Action] {
        arrivals += 1
        insert(id, Member(arrival: arrivals, keys: keys, holds: false))
        return grant(among: [id])
    }

    /// A member is tried again as another transaction, which keeps its place and may want more.
    mutating func `continue`(_ old: TransactionID, as new: TransactionID, keys: Set<TurnKey>) -> [Action] {
        guard let member = members[old] else { return join(new, keys: keys) }
        remove(old)
        insert(new, Member(arrival: member.arrival, keys: member.keys.union(keys), holds: false))
        // Having held its keys it may have kept an earlier one waiting, who comes first now.
        return grant(among: everyone(waitingFor: member.keys).union([new]))
    }

    /// A member ends, gives up or has held its turn for too long.
    mutating func leave(_ id: TransactionID) -> [Action] {
        guard let member = members[id] else { return [] }
        remove(id)
        return grant(among: everyone(waitingFor: member.keys))
    }

    private func everyone(waitingFor keys: Set<TurnKey>) -> Set<TransactionID> {
        keys.reduce(into: []) { $0.formUnion(queues[$1] ?? []) }
    }

    private mutating func grant(among candidates: Set<TransactionID>) -> [Action] {
        let waiting = candidates.compactMap { id in members[id].map { (id: id, member: $0) } }
            .filter { !$0.member.holds }
            .sorted { $0.member.arrival < $1.member.arrival }
        var actions: [Action] = []
        for (id, member) in waiting where member.keys.allSatisfy({ isNext(id, on: $0) }) {
            members[id]?.holds = true
            actions.append(.grant(id))
        }
        return actions
    }

    private func isNext(_ id: TransactionID, on key: TurnKey) -> Bool {
        guard let queue = queues[key], queue.first == id else { return false }
        return !queue.contains { $0 != id && members[$0]?.holds ?? false }
    }

    private mutating func insert(_ id: TransactionID, _ member: Member) {
        members[id] = member
        for key in member.keys {
            var queue = queues[key] ?? []
            let place = queue.firstIndex { (members[$0]?.arrival ?? 0) > member.arrival } ?? queue.count
            queue.insert(id, at: place)
            queues[key] = queue
        }
    }

    private mutating func remove(_ id: TransactionID) {
        guard let member = members.removeValue(forKey: id) else { return }
        for key in member.keys {
            queues[key]?.removeAll { $0 == id }
            if queues[key]?.isEmpty ?? false { queues[key] = nil }
        }
    }
}
