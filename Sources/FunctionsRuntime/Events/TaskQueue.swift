public import DocumentModel

/// A queue of tasks, by the name of the function that takes them.
public struct TaskQueue: Sendable {
    public let name: String
    private let firestore: Firestore

    package init(name: String, firestore: Firestore) {
        self.name = name
        self.firestore = firestore
    }

    /// Puts a task into the queue. It is there for good when this returns.
    ///
    /// Within a transactional function use ``Transaction/enqueue(_:to:options:)``: the task then exists if and only if the
    /// transaction commits. A plain handler that is tried again enqueues again, unless it names the task:
    /// `TaskOptions(id: event.id)`.
    ///
    /// - Parameter data: what the function gets as its data; at most 1 MiB as JSON.
    /// - Throws: ``DocumentError`` with `notFound` where there is no such queue, `alreadyExists` where a task has the name
    ///   or had it within a day, `invalidArgument` where an option is impossible; `EncodingError` where the data can't be
    ///   written as JSON. Nothing is enqueued then.
    public func enqueue(_ data: some Encodable, options: TaskOptions = TaskOptions()) async throws {
        let draft = try options.draft(of: data, for: name, at: firestore.transport.now)
        _ = try await firestore.transport.commit([], effects: [.enqueue(draft)])
    }
}

/// When and how a task is handled.
public struct TaskOptions: Sendable {
    private enum Schedule: Sendable {
        case now
        case at(Timestamp)
        case after(Duration)
    }

    /// The task's name, unique in its queue until a day after it has ended: 1 to 500 letters, digits, `_` and `-`. Nil
    /// for one of its own.
    public var id: String?
    /// How long one try may take, 15 s to 1800 s; nil for the function's timeout.
    public var dispatchDeadline: Duration?
    /// Headers that the handler finds in ``TaskRequest/headers``.
    public var headers: [String: String]
    /// Whether the task begins a chain of its own; false by default. Else it counts as caused by the event that the
    /// function handles, and a chain that is too long ends as a dead letter: a task that enqueues itself again until
    /// something is done must begin anew each time. What starts two such tasks never ends by itself.
    public var startsNewChain: Bool
    private var schedule: Schedule

    /// - Parameter scheduleTime: the earliest time, at most 30 days ahead; nil for at once.
    public init(
        scheduleTime: Timestamp? = nil, id: String? = nil, dispatchDeadline: Duration? = nil,
        headers: [String: String] = [:], startsNewChain: Bool = false
    ) {
        self.init(schedule: scheduleTime.map { .at($0) } ?? .now, id, dispatchDeadline, headers, startsNewChain)
    }

    /// - Parameter scheduleDelay: how long to wait at least, up to 30 days.
    public init(
        scheduleDelay: Duration, id: String? = nil, dispatchDeadline: Duration? = nil, headers: [String: String] = [:],
        startsNewChain: Bool = false
    ) {
        self.init(schedule: .after(scheduleDelay), id, dispatchDeadline, headers, startsNewChain)
    }

    private init(
        schedule: Schedule, _ id: String?, _ dispatchDeadline: Duration?, _ headers: [String: String],
        _ startsNewChain: Bool
    ) {
        self.schedule = schedule
        self.id = id
        self.dispatchDeadline = dispatchDeadline
        self.headers = headers
        self.startsNewChain = startsNewChain
    }

    /// The task that these make of data.
    ///
    /// - Throws: `EncodingError`; ``DocumentError`` `invalidArgument` where an option is impossible.
    package func draft(of data: some Encodable, for queue: String, at now: Timestamp) throws -> TaskDraft {
        var headers = headers
        if !headers.keys.contains(where: { $0.lowercased() == "content-type" }) {
            headers["Content-Type"] = "application/json"
        }
        let draft = TaskDraft(
            queue: queue, name: id, body: try CallableEncoder(root: "task").encode(["data": data]), headers: headers,
            scheduleTime: try time(from: now), dispatchDeadline: try deadline(), startsNewChain: startsNewChain)
        _ = try DocumentLimits.check(draft)
        return draft
    }

    private static let furthest = Duration.seconds(30 * 86_400)

    private func time(from now: Timestamp) throws(DocumentError) -> Timestamp? {
        let delay: Duration
        switch schedule {
        case .now: return nil
        case .at(let time): delay = .microseconds(time.isInRange ? time.microseconds - now.microseconds : .max)
        case .after(let duration): delay = duration
        }
        guard delay <= Self.furthest else {
            throw .invalidArgument("a task is put off for \(delay), more than 30 days, the limit")
        }
        return Timestamp(microseconds: now.microseconds + Int64(max(delay.seconds, 0) * 1_000_000))
    }

    private func deadline() throws(DocumentError) -> Int? {
        guard let dispatchDeadline else { return nil }
        guard (.seconds(15)...Duration.seconds(1800)).contains(dispatchDeadline) else {
            throw .invalidArgument("the dispatch deadline of a task is \(dispatchDeadline); it is 15 s to 1800 s")
        }
        return Int(dispatchDeadline.components.seconds)
    }
}
