import DequeModule

/// Keeps the order in which one client's listens begin: that in which it asked for them, as Firebase has it.
///
/// Their reads are under way together, and a later one may be done first. What it brings is kept until those before it have
/// begun, and so are the pushes that follow on it.
struct ListenStarts {
    typealias ListenID = RealtimeSession.ListenID
    typealias Event = (listen: ListenID, event: RealtimeListenEvent)

    /// Those that haven't begun, in order. The first isn't kept back.
    private var waiting: Deque<ListenID> = []
    private var kept: [ListenID: [RealtimeListenEvent]] = [:]
    private var keptPushes = 0

    /// With more, all goes out before its turn: one slow read must neither take memory nor get the client cut off for
    /// pushes that come together.
    static let maxKeptPushes = 64

    /// Whether too much is kept.
    var isFull: Bool { keptPushes >= Self.maxKeptPushes }

    mutating func append(_ id: ListenID) { waiting.append(id) }

    /// - Returns: false if the event isn't kept: it is its listen's turn.
    mutating func keep(_ event: RealtimeListenEvent, of id: ListenID) -> Bool {
        guard let first = waiting.first, first != id, waiting.contains(id) else { return false }
        if case .push = event { keptPushes += 1 }
        kept[id, default: []].append(event)
        return true
    }

    /// A listen has begun, or won't for now.
    ///
    /// - Returns: what was kept and whose turn it is, in order.
    mutating func remove(_ id: ListenID) -> [Event] {
        guard let index = waiting.firstIndex(of: id) else { return [] }
        waiting.remove(at: index)
        var events = take(id)
        while let next = waiting.first, kept[next] != nil {
            waiting.removeFirst()
            events += take(next)
        }
        return events
    }

    /// Waits for none any more.
    ///
    /// - Returns: what was kept, in order.
    mutating func removeAll() -> [Event] {
        defer { waiting = [] }
        return waiting.flatMap { take($0) }
    }

    private mutating func take(_ id: ListenID) -> [Event] {
        let events = kept.removeValue(forKey: id) ?? []
        for case .push in events { keptPushes -= 1 }
        return events.map { (id, $0) }
    }
}
