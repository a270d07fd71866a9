import Synchronization

/// What invocations share: the documents, and whether the host is stopping.
final class InvocationServices: Sendable {
    let documents: any WorkerDocuments
    private let stopping = Atomic<Bool>(false)

    init(documents: any WorkerDocuments) { self.documents = documents }

    var isStopping: Bool { stopping.load(ordering: .relaxed) }

    func beginStopping() { stopping.store(true, ordering: .relaxed) }
}
