import DequeModule

/// The work that other threads have for one connection. It is done on the connection's loop, in the order of the calls.
///
/// `@unchecked Sendable`: ``ConnectionTurns`` alone uses the variables, and the loop's lock protects it.
final class ConnectionQueue: @unchecked Sendable {
    let loop: RealtimeLoop
    /// Most connections have one item at a time, which then needs no memory of its own.
    private var first: RealtimeLoop.Item?
    private var others: Deque<RealtimeLoop.Item> = []
    fileprivate var isAmongAnswers = false
    fileprivate var isAmongPushes = false

    init(_ loop: RealtimeLoop) { self.loop = loop }

    /// Adds work from any thread.
    func post(_ item: RealtimeLoop.Item) { loop.post(item, to: self) }

    func post(_ call: @escaping @Sendable () -> Void) { post(.call(call)) }

    fileprivate var isEmpty: Bool { first == nil }

    fileprivate func append(_ item: RealtimeLoop.Item) {
        if first == nil { first = item } else { others.append(item) }
    }

    /// Takes all the work, so that its messages are sent together, until there are a number of items.
    fileprivate func take(_ count: Int, into taken: inout [RealtimeLoop.Item]) {
        while taken.count < count, let item = first {
            taken.append(item)
            first = others.popFirst()
        }
        if others.isEmpty { others = [] }
    }
}

/// Which connection's work a loop does next.
///
/// One write may be pushed to thousands of connections at once, and the answers to other clients must not wait for all of
/// them. So connections that have only pushes are served by turns with those that have other work too. The work of each
/// connection keeps its order.
struct ConnectionTurns {
    private var answers: Deque<ConnectionQueue> = []
    private var pushes: Deque<ConnectionQueue> = []
    private var isTurnOfPushes = false

    var isEmpty: Bool { answers.isEmpty && pushes.isEmpty }

    mutating func append(_ item: RealtimeLoop.Item, to queue: ConnectionQueue) {
        queue.append(item)
        if !item.isPush {
            // It may be among the pushes too. If its work is done when its turn comes there, the turn is skipped.
            addToAnswers(queue)
        } else if !queue.isAmongAnswers {
            addToPushes(queue)
        }
    }

    private mutating func addToAnswers(_ queue: ConnectionQueue) {
        guard !queue.isAmongAnswers else { return }
        queue.isAmongAnswers = true
        answers.append(queue)
    }

    private mutating func addToPushes(_ queue: ConnectionQueue) {
        guard !queue.isAmongPushes else { return }
        queue.isAmongPushes = true
        pushes.append(queue)
    }

    /// Takes work until there are a number of items.
    mutating func take(_ count: Int, into items: inout [RealtimeLoop.Item]) {
        while items.count < count, !isEmpty {
            isTurnOfPushes.toggle()
            if isTurnOfPushes || answers.isEmpty, let queue = pushes.popFirst() {
                queue.isAmongPushes = false
                queue.take(count, into: &items)
                if !queue.isEmpty, !queue.isAmongAnswers { addToPushes(queue) }
            } else if let queue = answers.popFirst() {
                queue.isAmongAnswers = false
                queue.take(count, into: &items)
                if !queue.isEmpty { addToAnswers(queue) }
            }
        }
    }
}
