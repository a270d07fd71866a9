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
    /// transaction commits. A plain handler that is tried again enqueues again, unless it names the task. It then finds the
    /// name taken by its own try before, which is no failure:
    ///
    ///     do {
    ///         try await event.taskQueue("mail").enqueue(receipt, options: TaskOptions(id: event.deliveryID))
    ///     } catch let error as DocumentError where error.code == .alreadyExists {}
    ///
    /// - Parameter data: what the function gets as its data; at most 1 MiB as JSON.
    /// - Throws: ``DocumentError`` with `notFound` where there is no such queue, `alreadyExists` where a task has the name
    ///   or had it within a day, `invalidArgument` where an option is impossible; `EncodingError` where the data can't be
    ///   written as JSON. Nothing is enqueued then.
    public func enqueue(_ data: some Encodable, options: TaskOptions = TaskOptions()) async throws {
        let draft = try options.draft(of: data, for: name, at: firestore.transport.now)
        _ = try await firestore.transport.commit([], effects: [.enqueue(draft)])
    }

    /// Takes a task back that hasn't ended, for good. One that isn't there, or has ended, is no error.
    ///
    /// One that is being run isn't tried again; a transactional handler's commit fails then, a plain one goes on to its
    /// end. The task's name stays taken for a day. In a transaction use ``Transaction/deleteTask(_:from:)``.
    ///
    /// - Parameter id: the task's name, as ``TaskOptions/id`` or ``TaskRequest/id`` has it.
    /// - Throws: `notFound` where there is no such queue, `invalidArgument` where no task can be called so.
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
            scheduleTime: time(from: now), dispatchDeadline: deadline, startsNewChain: startsNewChain)
        _ = try DocumentLimits.check(draft, at: now)
        return draft
    }

    /// Whether it is possible is for the limits to say; what no time can hold is beyond them in any case.
    private func time(from now: Timestamp) -> Timestamp? {
        switch schedule {
        case .now: nil
        case .at(let time): max(time.truncatedToMicroseconds, now)
        case .after(let delay): delay > .zero ? now.after(seconds: delay.seconds) : now
        }
    }

    /// In whole seconds, so that what is out of bounds stays so.
    private var deadline: Int? {
        guard let (seconds, fraction) = dispatchDeadline?.components else { return nil }
        return Int(clamping: fraction > 0 && seconds < .max ? seconds + 1 : seconds)
    }
}
