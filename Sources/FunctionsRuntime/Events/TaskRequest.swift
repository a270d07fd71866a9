public import DocumentModel
import StrictJSON
import WorkerProtocol

/// A task with its data decoded as the author's type.
public struct TaskRequest<Payload: Decodable & Sendable>: FunctionInput {
    /// The data of the task.
    public let data: Payload
    private let task: TaskDraft
    private let received: ReceivedEvent

    /// - Throws: ``HttpsError`` `invalidArgument` with the path that doesn't decode.
    init(_ received: ReceivedEvent) throws {
        guard case .task(let task) = received.event.content else { throw received.unexpected("tasks") }
        do {
            let decoder = CallableDecoder(root: nil, firestore: received.context.firestore)
            data = try decoder.decode(TaskBody<Payload>.self, from: task.body).data
        } catch let error as DecodingError {
            throw HttpsError(.invalidArgument, "The task's body can't be decoded: " + error.explanation)
        }
        self.task = task
        self.received = received
    }

    public var context: FunctionContext { received.context }

    /// The queue, which has the function's name.
    public var queueName: String { task.queue }
    /// The task's name, given or generated. The same for all attempts.
    public var id: String { task.name ?? received.id }
    /// The same for all attempts, and unique for the queue permanently, whereas a name may be reused a day after its
    /// task has ended.
    public var deliveryID: String { received.id }
    /// The number of this attempt, starting with 1.
    public var attempt: Int { received.attempt }
    /// The number of attempts before this one.
    public var retryCount: Int { received.retryCount }
    /// The number of earlier attempts that a handler completed.
    public var executionCount: Int { received.executionCount }
    /// When the task was due.
    public var scheduledTime: Timestamp { task.scheduleTime ?? received.event.time }
    /// The HTTP status of the previous attempt.
    public var previousResponse: Int? { received.previousResponse }
    /// Why the task is retried.
    public var retryReason: String? { received.retryReason }
    /// Who enqueued the task.
    public var auth: EventAuth { received.event.auth }

    /// The task's own headers, and Cloud Tasks' headers: `X-CloudTasks-QueueName` and so on.
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

/// A task's body: like a callable's, with data only.
private struct TaskBody<Payload: Decodable>: Decodable {
    var data: Payload

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: PathKey.self)
        for key in container.allKeys where key.stringValue != "data" {
            throw DecodingError.dataCorruptedError(
                forKey: key, in: container, debugDescription: "a task's body must contain only \"data\"")
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
