import DequeModule

/// What one client is sent and hasn't taken yet, in order.
///
/// A pure state machine. Pushes are counted while they wait: the client of a connection that holds too many is too slow.
struct RealtimeOutbox {
    enum Item: Equatable {
        case message([UInt8])
        case push(RealtimePush, tag: Int64?, bytes: Int)
        case value(before: [UInt8], RealtimeContent, after: [UInt8])
        /// The connection closes once all before it is sent.
        case end
    }

    private var items: Deque<Item> = []
    private(set) var waitingPushBytes = 0

    var isEmpty: Bool { items.isEmpty }

    mutating func append(_ item: Item) {
        if case .push(_, _, let bytes) = item { waitingPushBytes += bytes }
        items.append(item)
    }

    mutating func popFirst() -> Item? {
        guard let item = items.popFirst() else { return nil }
        if case .push(_, _, let bytes) = item { waitingPushBytes -= bytes }
        return item
    }

    mutating func removeAll() {
        items = []
        waitingPushBytes = 0
    }
}
