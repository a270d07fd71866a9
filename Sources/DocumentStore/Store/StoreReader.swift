import DocumentModel

/// One reader thread: answers what is waiting in one snapshot, one by one, so that a slow read holds up no other that a
/// second reader could take.
final class StoreReader: @unchecked Sendable {
    private static let maxBatch = 64

    private let store: DocumentStore
    // Used by the one thread that calls `run`.
    private let session: StoreSession

    init(store: DocumentStore, session: StoreSession) {
        self.store = store
        self.session = session
    }

    func run() {
        while let (first, end) = store.reads.takeFirst() {
            var waiting: ReadJob? = first
            do {
                try session.read { view, version in
                    for _ in 0..<Self.maxBatch {
                        // Who came after the snapshot may know of commits that it doesn't hold.
                        guard let job = waiting ?? store.reads.takeNext(before: end) else { return }
                        waiting = nil
                        answer(job, view, version: version)
                    }
                }
            } catch {
                waiting?.fail(DocumentError(from: error))
            }
        }
    }

    private func answer(_ job: ReadJob, _ view: DocumentView, version: Int64) {
        switch job {
        case .view(let body): body(.success((view, Timestamp(microseconds: version))))
        case .operation(let operation):
            do {
                guard let response = try store.read(operation, view, version: version) else {
                    if !store.writes.put(.operation(operation)) { job.fail(DocumentStore.shutDown) }
                    return
                }
                operation.completion(response)
            } catch {
                job.fail(DocumentError(from: error))
            }
        }
    }
}
