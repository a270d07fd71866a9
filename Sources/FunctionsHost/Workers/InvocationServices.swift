import DocumentStore
import Synchronization

/// What invocations share: the store, and whether the host is stopping.
final class InvocationServices: Sendable {
    let store: DocumentStore
    private let stopping = Atomic<Bool>(false)

    init(store: DocumentStore) { self.store = store }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    func beginStopping() { stopping.store(true, ordering: .relaxed) }
}
