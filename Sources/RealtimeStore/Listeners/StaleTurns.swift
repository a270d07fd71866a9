import RealtimeModel

/// Whose turn it is to retry a conditional write of a path that many clients write.
///
/// If all that are stale were answered at once, each would retry, and all but one would be stale again: with n
/// clients a write takes about n attempts. So one client at a time is answered, and the next one when the first has
/// written. So that none can be faster each time, a client that has written during another's turn may write again after
/// it. A function's invocation is answered only then. A connection is answered at once: what it is sent before its answer
/// must be the state with its own write, and no later one.
///
/// Used by several threads, with a lock.
struct StaleTurns {
    typealias Answer = @Sendable () -> Void

    /// What is written.
    struct Place: Hashable, Sendable {
        var namespace: String
        var target: RealtimeTarget
    }

    private struct Queue {
        /// The client whose turn it is, and until when it may take.
        var client: RetryingClient.ID
        var deadline: Duration
        /// Whether the client was stale in its turn, because of a writer that takes no turns.
        var hasFailed = false
        /// One turn for each client, however many of its writes are stale.
        var waiting: [(client: RetryingClient, answers: [Answer])] = []
        /// Answers to invocations that have written during the turn.
        var written: [Answer] = []
        /// The connections that have, and their next writes.
        var writers: Set<RetryingClient.ID> = []
        var held: [(client: RetryingClient.ID, proceed: Answer)] = []
    }

    private var queues: [Place: Queue] = [:]
    /// How long a client may take, until the next one has its turn too.
    private let limit: Duration

    init(limit: Duration) { self.limit = limit }

    var isEmpty: Bool { queues.isEmpty }

    /// When the next turn ends; nil if there is none.
    var nextDeadline: Duration? { queues.values.map(\.deadline).min() }

    /// Called when a conditional write, or a transaction that depends on several places, was decided.
    ///
    /// - Parameters:
    ///   - places: all that it depended on.
    ///   - stale: the one that had changed; nil if it was written, or refused for another reason.
    ///   - answer: answers its client.
    /// - Returns: the answers that are due.
    mutating func decided(
        _ places: [Place], stale: Place?, of client: RetryingClient, at now: Duration, _ answer: @escaping Answer
    ) -> [Answer] {
        // Its turns elsewhere are over.
        let own = places.filter { $0 != stale && queues[$0]?.client == client.id }
        let released = own.flatMap { next($0, at: now) }
        if let stale { return released + isStale(stale, of: client, at: now, answer) }
        guard own.isEmpty, let busy = places.first(where: { queues[$0] != nil }) else { return released + [answer] }
        guard case .connection = client.id else {
            queues[busy]?.written.append(answer)
            return released
        }
        queues[busy]?.writers.insert(client.id)
        return released + [answer]
    }

    /// Called before a conditional write is decided.
    ///
    /// - Returns: what lets it go on, if it may at once.
    mutating func admit(
        _ client: RetryingClient.ID, to place: Place, _ proceed: @escaping Answer
    ) -> Answer? {
        guard let queue = queues[place], queue.client != client, queue.writers.contains(client) else { return proceed }
        queues[place]?.held.append((client, proceed))
        return nil
    }

    private mutating func isStale(
        _ place: Place, of client: RetryingClient, at now: Duration, _ answer: @escaping Answer
    ) -> [Answer] {
        guard var queue = queues[place] else {
            queues[place] = Queue(client: client.id, deadline: now + limit)
            return [answer]
        }
        guard queue.client == client.id else {
            if let index = queue.waiting.firstIndex(where: { $0.client.id == client.id }) {
                queue.waiting[index].answers.append(answer)
            } else {
                queue.waiting.append((client, [answer]))
            }
            queues[place] = queue
            return []
        }
        // Once more, and no oftener: else a client could keep its turn.
        guard !queue.hasFailed else { return next(place, at: now) + [answer] }
        queue.hasFailed = true
        queue.deadline = now + limit
        queues[place] = queue
        return [answer]
    }

    /// Ends the turns that have taken too long.
    ///
    /// - Returns: the answers that are due.
    mutating func expire(at now: Duration) -> [Answer] {
        queues.filter { $0.value.deadline <= now }.keys.flatMap { next($0, at: now) }
    }

    /// Ends all turns.
    ///
    /// - Returns: the answers that are due.
    mutating func removeAll() -> [Answer] {
        defer { queues = [:] }
        return queues.values.flatMap { $0.written + $0.held.map(\.proceed) + $0.waiting.flatMap(\.answers) }
    }

    private mutating func next(_ place: Place, at now: Duration) -> [Answer] {
        guard var queue = queues.removeValue(forKey: place) else { return [] }
        var due = queue.written
        queue.written = []
        // A turn of a client that has left would last until its limit.
        let next = queue.waiting.firstIndex { !$0.client.hasLeft() } ?? queue.waiting.count
        for (_, answers) in queue.waiting.prefix(next) { due += answers }
        queue.waiting.removeFirst(next)
        guard !queue.waiting.isEmpty else { return due + queue.held.map(\.proceed) }
        // One write of each connection: with several it would be faster than the client whose turn it is.
        let held = queue.held
        (queue.held, queue.writers) = ([], [])
        var released: Set<RetryingClient.ID> = []
        for write in held {
            if released.insert(write.client).inserted {
                due.append(write.proceed)
            } else {
                queue.held.append(write)
                queue.writers.insert(write.client)
            }
        }
        let (client, answers) = queue.waiting.removeFirst()
        queue.client = client.id
        queue.deadline = now + limit
        queue.hasFailed = false
        queues[place] = queue
        return answers + due
    }
}
