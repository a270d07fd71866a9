import DequeModule

/// What one client is sent and hasn't taken yet, in order.
///
/// A pure state machine. All is counted while it waits: the client of a connection that holds too many pushes is too slow, and
/// one that doesn't take its answers isn't read.
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
    /// Answers and other messages.
    private(set) var waitingMessageBytes = 0
    /// What was read for the client and waits in memory.
    private(set) var waitingValueBytes = 0
    /// Values that wait, most of which are in files.
    private(set) var waitingFiles = 0

    var isEmpty: Bool { items.isEmpty }

    mutating func append(_ item: Item) {
        count(item, 1)
        items.append(item)
    }

    mutating func popFirst() -> Item? {
        guard let item = items.popFirst() else { return nil }
        count(item, -1)
        return item
    }

    private mutating func count(_ item: Item, _ factor: Int) {
        switch item {
        case .push(_, _, let bytes): waitingPushBytes += factor * bytes
        case .value(_, .bytes(let bytes), _): waitingValueBytes += factor * bytes.count
        case .value(_, .stream, _): waitingFiles += factor
        case .message(let message): waitingMessageBytes += factor * (message.count + Self.messageOverhead)
        case .end: break
        }
    }

    /// What a message takes beside its text.
    private static let messageOverhead = 64

    mutating func removeAll() {
        items = []
        waitingPushBytes = 0
        waitingMessageBytes = 0
        waitingValueBytes = 0
        waitingFiles = 0
    }
}
