import DocumentModel

/// One reader thread: takes what is waiting and answers it in one snapshot.
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
        while let jobs = store.reads.take(atMost: Self.maxBatch) {
            var answered = 0
            do {
                try session.read { view, version in
                    for job in jobs {
                        answered += 1
                        answer(job, view, version: version)
                    }
                }
            } catch {
                for job in jobs[answered...] { job.fail(DocumentError(from: error)) }
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
