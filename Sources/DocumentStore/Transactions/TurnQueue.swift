import DocumentModel

/// Something on which transactions take turns.
enum TurnKey: Hashable, Sendable {
    case document(DocumentPath)
    /// The collection of a query, or the id of a group.
    case collection(String, isGroup: Bool)
}

/// Decides which transaction's turn it is on which documents: a pure state machine.
///
/// Each member needs all its keys at once and holds none before. Arrival decides: a member gets its turn when no
/// earlier member waits for one of its keys and no member holds one. The earliest member therefore waits only for
/// holders, and holders wait for no other member: no deadlock, and every member gets its turn.
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
    /// The members that wait for a key, in the order of arrival.
    private var queues: [TurnKey: [TransactionID]] = [:]
    private var holders: [TurnKey: TransactionID] = [:]
    private var arrivals: UInt64 = 0

    var isEmpty: Bool { members.isEmpty }

    /// The member that has its turn on a key; nil if none has.
    func holder(of key: TurnKey) -> TransactionID? { holders[key] }

    /// A transaction requests its turn.
    mutating func join(_ id: TransactionID, keys: Set<TurnKey>) -> [Action] {
        arrivals += 1
        insert(id, Member(arrival: arrivals, keys: keys, holds: false))
        return grant(among: [id])
    }

    /// A member is retried as another transaction, which keeps its place and may need more keys.
    mutating func `continue`(_ old: TransactionID, as new: TransactionID, keys: Set<TurnKey>) -> [Action] {
        guard let member = members[old] else { return join(new, keys: keys) }
        remove(old)
        insert(new, Member(arrival: member.arrival, keys: member.keys.union(keys), holds: false))
        // While it held its keys it may have blocked an earlier member, which comes first now.
        return grant(among: first(on: member.keys).union([new]))
    }

    /// A member ends, cancels its wait or has held its turn for too long.
    mutating func leave(_ id: TransactionID) -> [Action] {
        guard let member = members[id] else { return [] }
        remove(id)
        return grant(among: first(on: member.keys))
    }

    /// Those of the waiting members whose turn it may be: very many may wait for one key.
    private func first(on keys: Set<TurnKey>) -> Set<TransactionID> { Set(keys.compactMap { queues[$0]?.first }) }

    private mutating func grant(among candidates: Set<TransactionID>) -> [Action] {
        let waiting = candidates.compactMap { id in members[id].map { (id: id, member: $0) } }
            .filter { !$0.member.holds }
            .sorted { $0.member.arrival < $1.member.arrival }
        var actions: [Action] = []
        for (id, member) in waiting where member.keys.allSatisfy({ isNext(id, on: $0) }) {
            members[id]?.holds = true
            for key in member.keys { holders[key] = id }
            actions.append(.grant(id))
        }
        return actions
    }

    private func isNext(_ id: TransactionID, on key: TurnKey) -> Bool {
        queues[key]?.first == id && holders[key] == nil
    }

    private mutating func insert(_ id: TransactionID, _ member: Member) {
        members[id] = member
        for key in member.keys {
            // Most come behind all others.
            let last = (queues[key] ?? []).lastIndex { (members[$0]?.arrival ?? 0) < member.arrival }
            queues[key, default: []].insert(id, at: last.map { $0 + 1 } ?? 0)
        }
    }

    private mutating func remove(_ id: TransactionID) {
        guard let member = members.removeValue(forKey: id) else { return }
        for key in member.keys {
            if holders[key] == id { holders[key] = nil }
            // Who leaves is mostly the first.
            if let place = queues[key]?.firstIndex(of: id) { queues[key]?.remove(at: place) }
            if queues[key]?.isEmpty ?? false { queues[key] = nil }
        }
    }
}
