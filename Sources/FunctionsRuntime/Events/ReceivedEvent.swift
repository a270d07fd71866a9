import DocumentModel
import NIOCore

/// An event as an invocation brings it, with the try it is.
package struct ReceivedEvent: Sendable {
    let event: Event
    let retryCount: Int
    let executionCount: Int
    let previousResponse: Int?
    let retryReason: String?
    let context: FunctionContext

    /// - Throws: ``UnreadableEvent``.
    package init(_ invocation: InvocationContext) throws(UnreadableEvent) {
        do {
            let attempt = try DeliveryAttempt(decoding: Array(invocation.body.readableBytesView))
            event = try Event(decoding: attempt.event)
            retryCount = attempt.retryCount
            executionCount = attempt.executionCount
            previousResponse = attempt.previousResponse
            retryReason = attempt.retryReason
        } catch {
            throw UnreadableEvent(description: "the invocation's body is no event: \(error)")
        }
        context = FunctionContext(invocation)
    }

    /// The same over all tries, and unique for the function whatever the event is: no publisher chooses it.
    var id: String { event.id.description }
    /// 1 the first time.
    var attempt: Int { retryCount + 1 }

    /// The error of a function that is told of what it isn't for: it was something else when the event happened.
    func unexpected(_ wanted: String) -> UnreadableEvent {
        UnreadableEvent(description: "the event \(id) is \(event.content.kind), and the function is for \(wanted)")
    }
}

/// Why a handler isn't run: what it is told of isn't what it takes.
package struct UnreadableEvent: Error, CustomStringConvertible {
    package var description: String
}

extension Event.Content {
    fileprivate var kind: String {
        switch self {
        case .document(let path, before: .some, after: .some): "an update of \(path)"
        case .document(let path, before: .some, after: nil): "a deletion of \(path)"
        case .document(let path, before: nil, after: _): "a creation of \(path)"
        case .schedule(let job, _): "a run of \(job)"
        case .task(let task): "a task for \(task.queue)"
        case .custom(let event): "an event of type \(event.type)"
        }
    }
}
