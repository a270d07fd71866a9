import DocumentModel
public import FunctionsRuntime
import WorkerProtocol

extension FunctionsTester {
    /// Hands a document trigger a change of a document, as if it had just been committed.
    ///
    /// - Parameters:
    ///   - path: the document's, such as `users/ada/orders/o1`.
    ///   - params: what the pattern's wildcards stand for.
    ///   - before: its fields before the change; nil where it didn't exist.
    ///   - after: its fields after the change; nil where it no longer exists.
    /// - Throws: what the handler throws.
    public func fire(
        _ name: String, path: String, params: [String: String] = [:], before: [String: Value]? = nil,
        after: [String: Value]? = nil
    ) async throws {
        guard case .document(let handler)? = functions[name]?.handler else {
            throw TestError("there is no document trigger \"\(name)\"")
        }
        let reference = firestore.document(path)
        let documentPath = try DocumentPath(path)
        func snapshot(_ fields: [String: Value]?) -> DocumentSnapshot {
            let time = Timestamp(microseconds: 0)
            let document = fields.map {
                DocumentModel.Document(path: documentPath, fields: $0, createTime: time, updateTime: time)
            }
            return DocumentSnapshot(reference: reference, document: document)
        }
        let context = context(InvocationHead(executionID: "test", timeLeft: 60_000), body: [], completion: nil) { _ in }
        let event = DocumentEvent(
            id: "test", time: Timestamp(microseconds: 0), document: path, params: params,
            data: Change(before: snapshot(before), after: snapshot(after)), authType: .unknown, authID: nil,
            firestore: firestore)
        try await InvocationContext.$current.withValue(context) {
            try await handler.run(event, transport: context.transport)
        }
    }

    /// Runs a scheduled job now.
    ///
    /// - Throws: what the handler throws.
    public func run(_ name: String, scheduleTime: Timestamp) async throws {
        guard case .schedule(let handler)? = functions[name]?.handler else {
            throw TestError("there is no scheduled job \"\(name)\"")
        }
        let context = context(InvocationHead(executionID: "test", timeLeft: 60_000), body: [], completion: nil) { _ in }
        let event = ScheduleEvent(jobName: name, scheduleTime: scheduleTime, firestore: firestore)
        try await InvocationContext.$current.withValue(context) {
            try await handler.run(event, transport: context.transport)
        }
    }
}
