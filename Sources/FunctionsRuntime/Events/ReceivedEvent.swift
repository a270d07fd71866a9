import DocumentModel
import NIOCore

/// An event as an invocation receives it, with its attempt.
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
            throw UnreadableEvent("the invocation's body isn't an event: \(error)")
        }
        context = FunctionContext(invocation)
    }

    /// The same for all attempts, and unique for the function: publishers don't choose it.
    var id: String { event.id.description }
    /// The number of the attempt, starting with 1.
    var attempt: Int { retryCount + 1 }

    /// The handler's input.
    func input<Input>(_ read: (ReceivedEvent) throws -> Input) throws(UnreadableEvent) -> Input {
        do {
            return try read(self)
        } catch let error as UnreadableEvent {
            throw error
        } catch {
            throw UnreadableEvent(cause: error)
        }
    }

    /// The error for an event that doesn't match the function's trigger: the function had another one when the event
    /// happened.
    func unexpected(_ wanted: String) -> UnreadableEvent {
        UnreadableEvent("the event \(id) is \(event.content.kind), but the function handles \(wanted)")
    }
}

/// The received event doesn't match the handler, which therefore doesn't run. No attempt can succeed.
package struct UnreadableEvent: Error, CustomStringConvertible {
    package var cause: any Error

    init(cause: any Error) { self.cause = cause }

    init(_ reason: String) { self.init(cause: DecodingFailure(reason)) }

    package var description: String { (cause as? DecodingError)?.explanation ?? "\(cause)" }
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
        case .reference(let change): "a change of /\(change.path)"
        }
    }
}
