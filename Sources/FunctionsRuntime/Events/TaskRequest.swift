public import DocumentModel
import WorkerProtocol

/// A task of a queue, its data decoded into the author's type.
public struct TaskRequest<Payload: Decodable & Sendable>: FunctionInput {
    /// What was enqueued.
    public let data: Payload
    private let task: TaskDraft
    private let received: ReceivedEvent

    /// - Throws: ``HttpsError`` `invalidArgument` naming the path that doesn't decode.
    init(_ received: ReceivedEvent) throws {
        guard case .task(let task) = received.event.content else { throw received.unexpected("tasks") }
        do {
            let decoder = CallableDecoder(root: nil, firestore: received.context.firestore)
            data = try decoder.decode(TaskBody<Payload>.self, from: task.body).data
        } catch let error as DecodingError {
            throw HttpsError(.invalidArgument, "The task's body can't be read: " + error.explanation)
        }
        self.task = task
        self.received = received
    }

    public var context: FunctionContext { received.context }

    /// The queue, which has the function's name.
    public var queueName: String { task.queue }
    /// The task's name: the one it was given, else one of its own. The same over all tries.
    public var id: String { task.name ?? received.id }
    /// The same over all tries, and unique for the queue for good: a name may be used again a day after its task.
    public var deliveryID: String { received.id }
    /// Tries before this one: all of them.
    public var retryCount: Int { received.retryCount }
    /// Tries before this one that a handler answered.
    public var executionCount: Int { received.executionCount }
    /// When the task was to be handled, at the earliest.
    public var scheduledTime: Timestamp { task.scheduleTime ?? received.event.time }
    /// The HTTP status that the try before ended with.
    public var previousResponse: Int? { received.previousResponse }
    /// Why the task is tried again.
    public var retryReason: String? { received.retryReason }
    /// Who enqueued the task.
    public var auth: EventAuth { received.event.auth }

    /// The task's own headers, and those of the field: `X-CloudTasks-QueueName` and its kin.
    public var headers: Headers {
        var pairs = task.headers.filter { !$0.key.lowercased().hasPrefix("x-cloudtasks-") }
            .map { (name: $0.key, value: $0.value) }
            .sorted { $0.name < $1.name }
        func add(_ name: String, _ value: String?) {
            if let value { pairs.append(("X-CloudTasks-" + name, value)) }
        }
        add("QueueName", queueName)
        add("TaskName", id)
        add("TaskRetryCount", String(retryCount))
        add("TaskExecutionCount", String(executionCount))
        add("TaskETA", scheduledTime.secondsText)
        add("TaskPreviousResponse", previousResponse.map { String($0) })
        add("TaskRetryReason", retryReason)
        return Headers(HeaderBlock(pairs))
    }
}

/// What a task's body holds: as a callable's, its data and nothing else.
private struct TaskBody<Payload: Decodable>: Decodable {
    var data: Payload

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: PathKey.self)
        for key in container.allKeys where key.stringValue != "data" {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: container, debugDescription: "a task's body has \"data\" alone")
        }
        data = try container.decode(Payload.self, forKey: .name("data"))
    }
}

extension Timestamp {
    /// Seconds since 1970, to the microsecond: `1767323045.678000`.
    fileprivate var secondsText: String {
        let fraction = String(nanoseconds / 1000)
        return "\(seconds)." + String(repeating: "0", count: 6 - fraction.count) + fraction
    }
}
