import CommitPipeline
package import StorageEngine
package import DocumentModel

/// An index of a store, and its progress.
package struct IndexStatus: Hashable, Sendable {
    package enum State: String, Hashable, Sendable {
        case building, ready, dropping
    }

    package var definition: IndexDefinition
    package var state: State
}

extension DocumentStore {
    /// Configures the project's indexes. Returns once the configuration is durable; indexes are then built or dropped
    /// in the background. If the store is closed meanwhile, this goes on when it is next opened.
    ///
    /// - Throws: `DocumentError` if a definition is invalid, or the store can't commit. The configuration is kept then
    ///   as soon as commits are.
    package func configureIndexes(_ configuration: IndexConfiguration) async throws(DocumentError) {
        let result: Result<Void, DocumentError> = await withCheckedContinuation { continuation in
            configureIndexes(configuration) { continuation.resume(returning: $0) }
        }
        try result.get()
    }

    /// The same, without waiting for it.
    package func configureIndexes(
        _ configuration: IndexConfiguration,
        completion: @escaping @Sendable (Result<Void, DocumentError>) -> Void
    ) {
        do throws(DocumentError) {
            try configuration.check()
            let job = IndexJob(work: .configure(configuration, completion), writer: writer)
            if !pipeline.submit(job) { throw CommitPipeline.shutDown }
        } catch {
            completion(.failure(error))
        }
    }

    /// Removes all index entries and recreates them from the documents. Queries are still answered meanwhile, but
    /// slowly.
    ///
    /// - Parameter cancellation: ends the wait, not the work.
    /// - Throws: `DocumentError` if the work stopped, or `CancellationError`: the store continues by itself, also after
    ///   it is reopened.
    package func rebuildIndexes(
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation()
    ) async throws {
        try await index(until: cancellation) { .rebuild($0) }
    }

    /// Waits until all indexes are built or dropped.
    ///
    /// - Parameter cancellation: ends the wait, not the work.
    /// - Throws: `DocumentError` if the work stopped, or `CancellationError`: the store continues by itself.
    package func indexesAreDone(
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation()
    ) async throws {
        try await index(until: cancellation) { .done($0) }
    }

    /// The indexes besides the automatic ones of all fields.
    package func indexes() async throws(DocumentError) -> [IndexStatus] {
        let result: Result<[IndexStatus], DocumentError> = await withCheckedContinuation { continuation in
            view({ continuation.resume(returning: $0) }) { view, _ in view.catalog.indexes.map(IndexStatus.init) }
        }
        return try result.get()
    }

    /// Replaces a catalog that can't be read: when the store is next opened, it recreates all entries.
    ///
    /// - Returns: whether there was a damaged catalog.
    /// - Throws: `StorageError`.
    package static func replaceDamagedCatalog(in engine: any StorageEngine) throws -> Bool {
        try engine.write { storage in
            if (try? IndexMaintenance(storage)) != nil { return false }
            var catalog = IndexCatalog()
            catalog.beginRebuilding()
            try catalog.write(to: storage)
            try IndexPass.write(nil, to: storage)
            var (version, generations) = try StoreVersion.readRow(storage)
            generations[DocumentWriter.self] = catalog.generation
            try StoreVersion.write(version, generations, to: storage)
            return true
        }
    }

    private func index(
        until cancellation: BlockingWork.Cancellation, _ work: (@escaping IndexJob.Completion) -> IndexJob.Work
    ) async throws {
        let result: Result<Void, DocumentError> = try await cancellation.wait { done in
            let job = IndexJob(work: work(done), writer: writer)
            if !pipeline.submit(job) { done(.failure(CommitPipeline.shutDown)) }
        }
        try result.get()
    }
}

extension IndexStatus {
    init(_ index: IndexCatalog.Index) {
        definition = index.definition
        state =
            switch index.state {
            case .building: .building
            case .ready: .ready
            case .dropping: .dropping
            }
    }
}

extension IndexConfiguration {
    package static let maxIndexes = 200
    package static let maxFields = 100

    /// - Throws: `invalidArgument` if a definition is invalid.
    func check() throws(DocumentError) {
        guard indexes.count(where: { $0.fields.count > 1 }) <= Self.maxIndexes else {
            throw .invalidArgument("there are more than \(Self.maxIndexes) composite indexes, the limit")
        }
        for index in indexes {
            let name = "an index of \"\(index.collectionID)\""
            guard (1...Self.maxFields).contains(index.fields.count) else {
                throw .invalidArgument("\(name) has \(index.fields.count) fields; 1 to \(Self.maxFields) are possible")
            }
            guard index.fields.count(where: { $0.kind == .contains }) <= 1 else {
                throw .invalidArgument("\(name) has more than one array; one is possible")
            }
            guard Set(index.fields.map(\.path)).count == index.fields.count else {
                throw .invalidArgument("\(name) has a field twice")
            }
        }
    }
}
