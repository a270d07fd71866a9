public import DocumentModel
import FunctionsRuntime
import WorkerProtocol

extension FunctionsTester {
    /// Hands a document trigger a change of a document, as if it had just been committed. The documents themselves are
    /// left as they are.
    ///
    /// - Parameters:
    ///   - path: the document's, such as `users/ada/orders/o1`; it must fit the trigger's pattern.
    ///   - before: its fields before the change; nil where it didn't exist.
    ///   - after: its fields after the change; nil where it no longer exists.
    ///   - auth: who made the change.
    /// - Throws: what the handler throws.
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
        try await hand(.document(path, before: document(before), after: document(after)), at: time, by: auth, to: name)
    }

    /// Runs a scheduled job now.
    ///
    /// - Parameter scheduleTime: when the run was due; now by default.
    /// - Throws: what the handler throws.
    public func run(_ name: String, scheduleTime: Timestamp? = nil) async throws {
        guard case .schedule? = functions[name]?.trigger else {
            throw TestError("there is no scheduled job \"\(name)\"")
        }
        try await hand(
            .schedule(job: name, isManual: false), at: scheduleTime ?? now, by: EventAuth(.system), to: name)
    }

    /// Runs a function on an event of its own, once.
    func hand(_ content: Event.Content, at time: Timestamp, by auth: EventAuth, to name: String) async throws {
        let event = Event(
            id: EventID(version: time.microseconds, ordinal: 0), time: time, auth: auth, content: content)
        try await run(name, DeliveryAttempt(event: event.encoded, retryCount: 0))
    }

    /// Runs a function on what a worker would be sent.
    func run(_ name: String, _ attempt: DeliveryAttempt) async throws {
        guard case .event(let handler)? = functions[name]?.handler else {
            throw TestError("there is no function \"\(name)\" that is told of events")
        }
        let context = context(
            InvocationHead(executionID: "test", timeLeft: 60_000), body: attempt.encoded, completion: nil
        ) { _ in }
        try await InvocationContext.$current.withValue(context) { try await handler.run(context) }
    }
}
