import StorageEngine
import DocumentModel

/// What is asked of a store's indexes.
enum IndexJob: Sendable {
    typealias Completion = @Sendable (Result<Void, DocumentError>) -> Void

    case configure(IndexConfiguration, Completion)
    /// Answered once all is done.
    case rebuild(Completion)
    case done(Completion)

    func fail(_ error: DocumentError) {
        switch self {
        case .configure(_, let completion), .rebuild(let completion), .done(let completion):
            completion(.failure(error))
        }
    }
}

extension StoreWriter {
    /// - Throws: where the batch can't go on.
    func work(on job: IndexJob, _ storage: any StorageWriter) throws {
        do {
            switch job {
            case .configure(let configuration, let completion):
                try indexes.configure(configuration, storage)
                indexes.whenDurable(completion)
            case .rebuild(let completion):
                try indexes.rebuild(storage)
                indexes.whenDone(completion)
            case .done(let completion): indexes.whenDone(completion)
            }
        } catch {
            job.fail(DocumentError(from: error))
            throw error
        }
    }

    /// Builds and drops indexes for a while: for its share, and longer where nobody waits.
    func work(on storage: any StorageWriter, beside jobs: [WriteJob]) throws {
        guard indexes.pause == .zero || (jobs.isEmpty && indexes.hasWork) else { return }
        let share = store.configuration.indexShareLimit
        let limit = jobs.isEmpty ? store.configuration.indexBatchLimit : share
        let start = ContinuousClock.now
        var documents = 0
        try indexes.step(storage) {
            documents += 1
            let time = ContinuousClock.now - start
            return documents >= store.configuration.indexBatch || time >= limit
                || (time >= share && !store.writes.isEmpty)
        }
    }
}
