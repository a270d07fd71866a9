/// A task to be enqueued.
public struct TaskDraft: Hashable, Sendable {
    /// The name of the queue, which is also the name of the function that handles its tasks.
    public var queue: String
    /// Unique within the queue until a day after the task has ended; nil to have one generated.
    public var name: String?
    /// The complete JSON body of the request: `{"data":…}`, like a callable's.
    public var body: [UInt8]
    public var headers: [String: String]
    /// When the task is due; nil for immediately.
    public var scheduleTime: Timestamp?
    /// The time limit of one attempt in seconds; nil for the function's timeout.
    public var dispatchDeadline: Int?
    /// Whether the task starts a new event chain. Not stored with the task.
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

/// A task or event that a commit causes in addition to its writes: it happens if and only if the commit does.
public enum Effect: Hashable, Sendable {
    case enqueue(TaskDraft)
    case publish(CloudEvent)
    /// Deletes a task that hasn't ended, by its name or its event id. A missing task isn't an error.
    case deleteTask(String, queue: String)
}
