public import DocumentModel

/// A task queue, identified by the name of the function that handles its tasks.
public struct TaskQueue: Sendable {
    public let name: String
    private let firestore: Firestore

    package init(name: String, firestore: Firestore) {
        self.name = name
        self.firestore = firestore
    }

    /// Enqueues a task. The task is durable when this returns.
    ///
    /// In a transactional function use ``Transaction/enqueue(_:to:options:)``: the task then exists if and only if the
    /// transaction commits. A handler that isn't transactional and is retried enqueues again, unless it names the task.
    /// Treat the name that an earlier attempt has taken as success:
    ///
    ///     do {
    ///         try await event.taskQueue("mail").enqueue(receipt, options: TaskOptions(id: event.deliveryID))
    ///     } catch let error as DocumentError where error.code == .alreadyExists {}
    ///
    /// - Parameters:
    ///   - data: The data for the function, at most 1 MiB as JSON.
    ///   - options: Its name, time and limits.
    /// - Throws: `DocumentError` with `notFound` if there is no such queue, `alreadyExists` if a task has the name or
    ///   had it within the last day, `invalidArgument` if an option is invalid; `EncodingError` if the data can't be
    ///   encoded as JSON. Nothing is enqueued then.
    public func enqueue(_ data: some Encodable, options: TaskOptions = TaskOptions()) async throws {
        let draft = try options.draft(of: data, for: name, at: firestore.transport.now)
        _ = try await firestore.transport.commit([], effects: [.enqueue(draft)])
    }

    /// Deletes a task that hasn't ended. A task that doesn't exist or has ended isn't an error.
    ///
    /// A running task isn't retried: the commit of a transactional handler fails, another handler runs to its end. The
    /// task's name stays reserved for a day. In a transaction use ``Transaction/deleteTask(_:from:)``.
    ///
    /// - Parameter id: The task's name, as in ``TaskOptions/id`` or ``TaskRequest/id``.
    /// - Throws: `notFound` if there is no such queue, `invalidArgument` if the name is invalid.
    public func delete(_ id: String) async throws(DocumentError) {
        try DocumentLimits.check(taskName: id)
        _ = try await firestore.transport.commit([], effects: [.deleteTask(id, queue: name)])
    }
}

/// When and how a task is handled.
public struct TaskOptions: Sendable {
    private enum Schedule: Sendable {
        case now
        case at(Timestamp)
        case after(Duration)
    }

    /// The task's name, unique in its queue until a day after the task has ended: 1 to 500 letters, digits, `_` and
    /// `-`. Nil to have one generated.
    public var id: String?
    /// The time limit of one attempt, 15 s to 1800 s, if it is shorter than the function's timeout. Nil for that.
    public var dispatchDeadline: Duration?
    /// Headers, available to the handler as ``TaskRequest/headers``.
    public var headers: [String: String]
    /// Whether the task starts a new event chain; false by default. Otherwise it counts as caused by the event that the
    /// function handles, and a chain that is too long is dead-lettered. A task that enqueues itself until something is
    /// done must start a new chain each time. If such a task enqueues two, the chain never ends.
    public var startsNewChain: Bool
    private var schedule: Schedule

    /// - Parameters:
    ///   - scheduleTime: The earliest time, at most 30 days ahead; nil for immediately.
    ///   - startsNewChain: See ``startsNewChain``.
    ///   - headers: Headers for the handler.
    ///   - id: See ``id``.
    ///   - dispatchDeadline: See ``dispatchDeadline``.
    public init(
        scheduleTime: Timestamp? = nil, id: String? = nil, dispatchDeadline: Duration? = nil,
        headers: [String: String] = [:], startsNewChain: Bool = false
    ) {
        self.init(schedule: scheduleTime.map { .at($0) } ?? .now, id, dispatchDeadline, headers, startsNewChain)
    }

    /// - Parameters:
    ///   - scheduleDelay: The minimum delay, at most 30 days.
    ///   - startsNewChain: See ``startsNewChain``.
    ///   - id: See ``id``.
    ///   - headers: Headers for the handler.
    ///   - dispatchDeadline: See ``dispatchDeadline``.
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

    /// The task with these options.
    ///
    /// - Throws: `EncodingError`; `DocumentError` `invalidArgument` if an option is invalid.
    package func draft(of data: some Encodable, for queue: String, at now: Timestamp) throws -> TaskDraft {
        var headers = headers
        if !headers.keys.contains(where: { $0.lowercased() == "content-type" }) {
            headers["Content-Type"] = "application/json"
        }
        let draft = TaskDraft(
            queue: queue, name: id, body: try CallableEncoder(root: "task").encode(["data": data]), headers: headers,
            scheduleTime: time(from: now), dispatchDeadline: deadline, startsNewChain: startsNewChain)
        _ = try DocumentLimits.check(draft, at: now)
        return draft
    }

    /// The limits are checked later; a delay beyond the range of a timestamp exceeds them anyway.
    private func time(from now: Timestamp) -> Timestamp? {
        switch schedule {
        case .now: nil
        case .at(let time): max(time.truncatedToMicroseconds, now)
        case .after(let delay): delay > .zero ? now.after(seconds: delay.inSeconds) : now
        }
    }

    /// In whole seconds, rounded so that an invalid value stays invalid.
    private var deadline: Int? {
        guard let (seconds, fraction) = dispatchDeadline?.components else { return nil }
        return Int(clamping: fraction > 0 && seconds < .max ? seconds + 1 : seconds)
    }
}
