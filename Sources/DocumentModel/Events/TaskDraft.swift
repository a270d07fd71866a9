/// A task for a queue, as it is enqueued.
public struct TaskDraft: Hashable, Sendable {
    /// The function that takes the queue's tasks.
    public var queue: String
    /// Unique in its queue, until a day after the task has ended; nil for one of its own.
    public var name: String?
    /// The whole body of the request, JSON: `{"data":…}`, as a callable's.
    public var body: [UInt8]
    public var headers: [String: String]
    /// When it is due; nil for at once.
    public var scheduleTime: Timestamp?
    /// How long one try may take, in seconds; nil for the function's timeout.
    public var dispatchDeadline: Int?
    /// Whether the functions that led to it don't count as its way. Not kept with the task.
    public var startsNewChain: Bool

    public init(
        queue: String, name: String? = nil, body: [UInt8], headers: [String: String] = [:],
        scheduleTime: Timestamp? = nil, dispatchDeadline: Int? = nil, startsNewChain: Bool = false
    ) {
        self.queue = queue
        self.name = name
        self.body = body
        self.headers = headers
        self.scheduleTime = scheduleTime
        self.dispatchDeadline = dispatchDeadline
        self.startsNewChain = startsNewChain
    }
}

/// What a commit causes besides its writes: it happens if and only if the commit does.
public enum Effect: Hashable, Sendable {
    case enqueue(TaskDraft)
    case publish(CloudEvent)
    /// Removes a task that hasn't ended, by its name or else its event; one that isn't there is no error.
    case deleteTask(String, queue: String)
}
