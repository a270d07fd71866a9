import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Logging
import NIOCore
import Synchronization

/// What a handler recorded of its events.
final class Kept<Element: Sendable>: Sendable {
    private let elements = Mutex<[Element]>([])
    var all: [Element] { elements.withLock { $0 } }
    func keep(_ element: Element) { elements.withLock { $0.append(element) } }
}

extension Event {
    static let time = Timestamp(seconds: 1_767_323_045, nanoseconds: 678_000_000)
    static let id = EventID(version: time.microseconds, ordinal: 3)

    static func of(_ content: Content, by auth: EventAuth = EventAuth(.appUser, id: "ada")) -> Event {
        Event(id: id, time: time, auth: auth, content: content)
    }
}

extension Function {
    /// Runs the handler as a worker does.
    func deliver(
        _ event: Event, retryCount: Int = 0, executionCount: Int = 0, previousResponse: Int? = nil,
        retryReason: String? = nil, over transport: ScriptedTransport = ScriptedTransport()
    ) async throws {
        let attempt = DeliveryAttempt(
            event: event.encoded, retryCount: retryCount, executionCount: executionCount,
            previousResponse: previousResponse, retryReason: retryReason)
        try await deliver(attempt.encoded, over: transport)
    }

    func deliver(_ body: [UInt8], over transport: ScriptedTransport = ScriptedTransport()) async throws {
        guard case .event(let handler) = handler else { throw DocumentError(.internal, "\(name) takes no events") }
        try await handler.run(
            InvocationContext(
                head: InvocationHead(executionID: "run", timeLeft: 60_000), body: ByteBuffer(bytes: body),
                deadline: .now + .seconds(60), transport: transport, logger: Logger(label: "test"),
                sendChunk: { _ in }, writeBody: { _ in }))
    }
}

func change(
    _ path: String, before: [String: Value]? = nil, after: [String: Value]? = nil
) throws -> Event.Content {
    .document(
        try DocumentPath(path), before: try before.map { try stored(path, $0) },
        after: try after.map { try stored(path, $0) })
}

/// The whole reason that the host receives for a failure.
func failure(_ body: () async throws -> Void) async -> InvocationFailure? {
    do {
        try await body()
        return nil
    } catch {
        return InvocationFailure(ofEvent: error)
    }
}
