import CommitPipeline
import EventDelivery
public import DocumentModel
import DocumentStore
public import FunctionsRuntime
public import StrictJSON
import FunctionManifest
import RealtimeModel
import WorkerProtocol

extension FunctionsTester {
    /// Runs a document trigger for a change, as if the change had just been committed. The documents themselves don't
    /// change.
    ///
    /// - Parameters:
    ///   - name: The function's.
    ///   - path: The document's path, such as `users/ada/orders/o1`. It must match the trigger's pattern.
    ///   - before: The fields before the change; nil if the document didn't exist.
    ///   - after: The fields after the change; nil if the document no longer exists.
    ///   - auth: Who made the change.
    /// - Throws: What the handler throws.
    public func fire(
        _ name: String, path: String, before: [String: Value]? = nil, after: [String: Value]? = nil,
        auth: EventAuth = EventAuth(.unknown)
    ) async throws {
        guard case .document? = functions[name]?.trigger else {
            throw TestError("there is no document trigger \"\(name)\"")
        }
        let path = try DocumentPath(path)
        let time = now
        func document(_ fields: [String: Value]?) -> DocumentModel.Document? {
            fields.map { DocumentModel.Document(path: path, fields: $0, createTime: time, updateTime: time) }
        }
        try await runOnce(
            .document(path, before: document(before), after: document(after)), at: time, by: auth, to: name)
    }

    /// Runs a trigger of the Realtime Database for a change, as if the change had just been committed. The database itself
    /// doesn't change. The handler sees the values as the database would have stored them: nulls and what is empty
    /// don't exist, and server values are computed.
    ///
    /// - Parameters:
    ///   - name: The function's.
    ///   - reference: The node's path, such as `rooms/lobby/messages/m1`. It must match the trigger's pattern.
    ///   - instance: The database's name. Default: the project's own, `PROJECT-default-rtdb`.
    ///   - before: The value before the change, which may have priorities as an export has; nil if there was none.
    ///   - after: The value after the change; nil if there is none any more.
    ///   - auth: Who made the change.
    /// - Throws: What the handler throws; ``TestError`` for a path or value that the database would refuse.
    public func fire(
        _ name: String, reference: String, instance: String? = nil, before: JSONValue? = nil, after: JSONValue? = nil,
        auth: EventAuth = EventAuth(.unknown)
    ) async throws {
        guard case .reference? = functions[name]?.trigger else {
            throw TestError("there is no trigger of the Realtime Database \"\(name)\"")
        }
        let time = now
        let (before, after) = (try before?.serialized(), try after?.serialized())
        let path: RealtimePath
        let old, new: RealtimeNode?
        do throws(RealtimeError) {
            path = try RealtimePath(reference)
            old = try Self.node(before, at: path, existing: nil, time)
            new = try Self.node(after, at: path, existing: old, time)
        } catch {
            throw TestError("the database would refuse this change: \(error)")
        }
        let change = ReferenceChange(
            instance: instance ?? "\(firestore.transport.database.project)-default-rtdb", path: path.string,
            before: old?.json(as: .export), settings: [ReferenceChange.Setting("", new?.json(as: .export))],
            existsAfter: new != nil)
        try await runOnce(.reference(change), at: time, by: auth, to: name)
    }

    /// What the database would store.
    private static func node(
        _ json: [UInt8]?, at path: RealtimePath, existing: RealtimeNode?, _ time: Timestamp
    ) throws(RealtimeError) -> RealtimeNode? {
        guard let json else { return nil }
        return try RealtimeWriteValue(parsing: json, at: RealtimeTarget(path))
            .resolved(now: time.microseconds / 1000, existing: existing)
    }

    /// Runs a function of `onUserCreated` or `onUserDeleted` for a user, as if the user had just been created or deleted.
    ///
    /// - Parameters:
    ///   - name: The function's.
    ///   - user: As the function receives it.
    ///   - auth: Who did it.
    /// - Throws: What the handler throws.
    public func fire(_ name: String, user: UserRecord, auth: EventAuth = EventAuth(.serviceAccount)) async throws {
        guard case .event(let trigger)? = functions[name]?.trigger,
            [UserEvent.created, UserEvent.deleted].contains(trigger.eventType)
        else { throw TestError("there is no function \"\(name)\" for users who are created or deleted") }
        let event = CloudEvent(
            type: trigger.eventType,
            source: "//firebaseauth.googleapis.com/projects/\(firestore.transport.database.project)",
            subject: "users/\(user.uid)", dataContentType: "application/json",
            data: try CallableEncoder(root: "user").encode(user))
        try await runOnce(.custom(event), at: now, by: auth, to: name)
    }

    /// Runs a scheduled job now.
    ///
    /// - Parameters:
    ///   - scheduleTime: When the run was due; now by default.
    ///   - name: The function's.
    /// - Throws: What the handler throws.
    public func run(_ name: String, scheduleTime: Timestamp? = nil) async throws {
        guard case .schedule? = functions[name]?.trigger else {
            throw TestError("there is no scheduled job \"\(name)\"")
        }
        try await runOnce(
            .schedule(job: name, isManual: false), at: scheduleTime ?? now, by: EventAuth(.system), to: name)
    }

    /// Runs a task function for a task.
    ///
    /// - Parameters:
    ///   - retryCount: The number of failed attempts before this one.
    ///   - options: The task's name, time and limits.
    ///   - name: The function's.
    ///   - data: As the caller sends it.
    /// - Throws: What the handler throws.
    public func dispatch(
        _ name: String, _ data: some Encodable, options: TaskOptions = TaskOptions(), retryCount: Int = 0
    ) async throws {
        guard case .task? = functions[name]?.trigger else {
            throw TestError("there is no task function \"\(name)\"")
        }
        let draft = try options.draft(of: data, for: name, at: now)
        try await runOnce(.task(draft), at: now, by: EventAuth(.serviceAccount), to: name, retryCount: retryCount)
    }

    /// Publishes an event and delivers everything that is due.
    ///
    /// - Throws: ``TestError`` if no function matches the event; ``TestDeliveryError`` if a handler fails.
    @discardableResult
    public func publish(_ event: CloudEvent, toleratingFailures: Bool = false) async throws -> [TestDelivery] {
        guard !routes.events.receivers(of: event).isEmpty else {
            throw TestError("no function matches events of type \(event.type) with these attributes")
        }
        _ = try await store.commit([], effects: [.publish(event)])
        return try await deliverAll(toleratingFailures: toleratingFailures)
    }

    /// Publishes a value as JSON to a topic and delivers everything that is due.
    ///
    /// - Throws: As ``publish(_:toleratingFailures:)``.
    @discardableResult
    public func publish(
        json value: some Encodable, to topic: String, attributes: [String: String] = [:],
        toleratingFailures: Bool = false
    ) async throws -> [TestDelivery] {
        let message = PubSubMessage(
            data: try CallableEncoder(root: "message", wrapsIntegers: false).encode(value), attributes: attributes,
            messageID: PubSubMessage.makeID(), publishTime: now)
        let event = try message.event(topic: topic, project: firestore.transport.database.project)
        return try await publish(event, toleratingFailures: toleratingFailures)
    }

    /// Runs a function once for an event that isn't stored.
    private func runOnce(
        _ content: Event.Content, at time: Timestamp, by auth: EventAuth, to name: String, retryCount: Int = 0
    ) async throws {
        let event = Event(
            id: EventID(version: time.microseconds, ordinal: 0), time: time, auth: auth, content: content)
        let attempt = DeliveryAttempt(event: event.encoded, retryCount: retryCount, executionCount: retryCount)
        try await run(name, attempt, OperationContext(chain: [name]))
    }

    /// Runs a function with the body that a worker would receive.
    func run(_ name: String, _ attempt: DeliveryAttempt, _ operations: OperationContext) async throws {
        guard let function = functions[name], case .event = function.handler else {
            throw TestError("there is no event function \"\(name)\"")
        }
        let timeout = try Self.timeout(of: function, for: attempt)
        let end = await perform(
            function, InvocationHead(), body: attempt.encoded, operations, timeout: timeout)
        if end.isGivenUp {
            throw HttpsError(
                .deadlineExceeded, "the handler took longer than its \(timeout.components.seconds) s")
        }
        if let error = end.error { throw error }
    }

    /// A task may give its handler less time than the function has.
    private static func timeout(of function: Function, for attempt: DeliveryAttempt) throws -> Duration {
        let timeout = function.options.effectiveTimeout(of: function.trigger)
        guard case .task(let task) = try Event(decoding: attempt.event).content, let deadline = task.dispatchDeadline
        else { return timeout }
        return min(timeout, .seconds(deadline))
    }
}
