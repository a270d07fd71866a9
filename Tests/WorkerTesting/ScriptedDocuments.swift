package import DocumentModel
import Synchronization

/// Documents that answer when the test says so.
package final class ScriptedDocuments: DocumentRequestBackend {
    package struct Operation: Sendable {
        package let request: DocumentRequest
        package let context: OperationContext
        package let answer: @Sendable (DocumentResponse) -> Void
    }

    private struct State {
        var waiting: [Operation] = []
        var released: [UInt64] = []
    }

    private let state = Mutex(State())

    package init() {}

    package func perform(
        _ request: DocumentRequest, in context: OperationContext,
        completion: @escaping @Sendable (DocumentResponse) -> Void
    ) {
        state.withLock { $0.waiting.append(Operation(request: request, context: context, answer: completion)) }
    }

    package func release(owner: UInt64) { state.withLock { $0.released.append(owner) } }

    /// The operation that came first of those that the test hasn't taken.
    package func next() -> Operation? { state.withLock { $0.waiting.isEmpty ? nil : $0.waiting.removeFirst() } }

    /// The invocations whose transactions were released, in order.
    package var released: [UInt64] { state.withLock { $0.released } }
}
