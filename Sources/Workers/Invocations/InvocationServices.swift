package import DocumentModel
import Synchronization

/// What invocations share: the documents, and whether the host is stopping.
package final class InvocationServices: Sendable {
    let documents: any DocumentBackend
    private let stopping = Atomic<Bool>(false)

    package init(documents: any DocumentBackend) { self.documents = documents }

    package var isStopping: Bool { stopping.load(ordering: .relaxed) }

    package func beginStopping() { stopping.store(true, ordering: .relaxed) }
}
