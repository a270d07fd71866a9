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

    /// Builds and drops indexes for a while, and ends it as soon as somebody waits.
    func work(on storage: any StorageWriter, beside jobs: [WriteJob]) throws {
        guard indexes.pause == .zero || (jobs.isEmpty && indexes.hasWork) else { return }
        let limit = jobs.isEmpty ? store.configuration.indexBatchLimit : store.configuration.indexShareLimit
        let start = ContinuousClock.now
        var documents = 0
        do {
            try indexes.step(storage) {
                documents += 1
                return documents >= store.configuration.indexBatch || !store.writes.isEmpty
                    || ContinuousClock.now - start >= limit
            }
        } catch let error as DecodingFailure {
            // What was done so far is right, and the commits of the batch are not to suffer.
            indexes.stop(DocumentError(from: error))
        }
    }
}
