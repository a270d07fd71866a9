package import ControlProtocol
package import StorageEngine
package import DocumentModel
package import DocumentStore

/// Does what is done with the data as a whole, on an open store.
package struct DataService: Sendable {
    private static let exportPiece = 128 * 1024
    /// Documents between two tellings.
    private static let importedBetweenTellings = 1000

    private let store: DocumentStore
    private let database: DatabaseID

    package init(_ store: DocumentStore, database: DatabaseID) {
        self.store = store
        self.database = database
    }

    /// - Parameters:
    ///   - input: what an import reads.
    ///   - cancellation: ends a backup, an export, a check or a compaction soon, also where there is nothing to tell for
    ///     long. An import and a clearing don't ask it: they tell something after a thousand documents at most, and end
    ///     where `tell` throws.
    ///   - tell: told what happens, one after the other; what it throws ends the work.
    /// - Throws: `DocumentError` with a sentence for the operator, `CancellationError`, or what `tell` throws.
    package func perform(
        _ request: DataRequest, input: some AsyncSequence<[UInt8], any Error> & Sendable,
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        do {
            switch request {
            case .backUp(let file, let replacing): return try await backUp(file, replacing, cancellation, tell)
            case .export(let collections): return try await export(collections, cancellation, tell)
            case .importDocuments(let clearing): return try await importDocuments(input, clearing, tell)
            case .check(let repairing): return try await check(repairing, cancellation, tell)
            case .compact(let whole): return try await compact(whole, cancellation, tell)
            case .clear:
                let count = try await store.clear { try await tell(.progress(done: $0, total: nil)) }
                return DataOutcome(["documents": count])
            }
        } catch let error as StorageError {
            throw error.documentError
        }
    }

    private func backUp(
        _ file: String, _ replacing: Bool, _ cancellation: BlockingWork.Cancellation,
        _ tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        let engine = try embeddedEngine()
        let bytes = try await WorkPipe<DataEvent>.run("data.backup", until: cancellation) { send in
            try engine.copy(to: file, replacing: replacing) { try send(DataEvent($0)) }
        } tell: {
            try await tell($0)
        }
        return DataOutcome(["bytes": bytes])
    }

    private func export(
        _ collections: [CollectionPath], _ cancellation: BlockingWork.Cancellation,
        _ tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        let (store, database) = (store, database)
        let count = try await WorkPipe<DataEvent>.run("data.export", until: cancellation) { send in
            var text = JSONText()
            var count = 0
            try store.export(collections) { time in
                let header = ExportFormat.Header(database: database, readTime: time, collections: collections)
                ExportFormat.write(header, to: &text)
            } document: { document in
                ExportFormat.write(document, to: &text)
                count += 1
                guard text.bytes.count >= Self.exportPiece else { return }
                try send(.lines(text.bytes))
                text = JSONText()
            }
            ExportFormat.writeEnd(count: count, to: &text)
            try send(.lines(text.bytes))
            return count
        } tell: {
            try await tell($0)
        }
        return DataOutcome(["documents": count])
    }

    private func importDocuments(
        _ input: some AsyncSequence<[UInt8], any Error> & Sendable, _ clearing: Bool,
        _ tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        var reader = ImportReader(into: database)
        var lines = LineBuffer()
        var target = StoreImport(store)
        var told = 0
        var hasCleared = false
        do {
            for try await piece in input {
                lines.append(piece)
                while let line = try lines.next() {
                    let isFirst = reader.header == nil
                    if let item = try reader.read(line) { try await target.add(item.path, item.fields) }
                    // Only what is an export makes room for itself.
                    if isFirst, clearing {
                        hasCleared = true
                        _ = try await store.clear { try await tell(.progress(done: $0, total: nil)) }
                    }
                }
                guard target.imported - told >= Self.importedBetweenTellings else { continue }
                told = target.imported
                try await tell(.progress(done: told, total: nil))
            }
            if !lines.rest.isEmpty, let item = try reader.read(Array(lines.rest)) {
                try await target.add(item.path, item.fields)
            }
            try reader.finish()
            try await target.finish()
        } catch let error as DocumentError where hasCleared || target.imported > 0 {
            let cleared = hasCleared ? "what was there before is deleted, or part of it; " : ""
            throw DocumentError(
                error.code,
                "\(error.message) (\(cleared)\(target.imported) documents were imported until then and stay; importing "
                    + "again is harmless)")
        }
        return DataOutcome(["documents": target.imported])
    }

    private func check(
        _ repairing: Bool, _ cancellation: BlockingWork.Cancellation, _ tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        // What is still being built isn't wrong.
        try await store.indexesAreDone(until: cancellation)
        var result = try await checkOnce(cancellation, tell)
        var outcome = [String: Int]()
        if repairing, result.isRepairable || result.isOutboxRepairable {
            let before = result.problems
            if result.isOutboxRepairable { try await store.repairOutbox() }
            if result.isRepairable {
                try await store.rebuildIndexes(until: cancellation)
                try await store.indexesAreDone(until: cancellation)
            }
            result = try await checkOnce(cancellation, tell)
            outcome["repaired"] = before - result.problems
        }
        outcome["documents"] = result.documents
        outcome["entries"] = result.entries
        outcome["changes"] = result.changes
        outcome["completions"] = result.completions
        outcome["deliveries"] = result.deliveries
        outcome["events"] = result.events
        outcome["problems"] = result.problems
        outcome["repairable"] = result.isRepairable || result.isOutboxRepairable ? 1 : 0
        outcome["skippedIndexes"] = result.skippedIndexes ? 1 : 0
        return DataOutcome(outcome)
    }

    private func checkOnce(
        _ cancellation: BlockingWork.Cancellation, _ tell: (DataEvent) async throws -> Void
    ) async throws -> CheckResult {
        let store = store
        return try await WorkPipe<DataEvent>.run("data.check", until: cancellation) { send in
            try store.check(
                until: cancellation, report: { try send(.problem($0)) }, progress: { try send(DataEvent($0)) })
        } tell: {
            try await tell($0)
        }
    }

    private func compact(
        _ whole: Bool, _ cancellation: BlockingWork.Cancellation, _ tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        let engine = try embeddedEngine()
        let compaction = try await WorkPipe<DataEvent>.run("data.compact", until: cancellation) { send in
            try engine.compact(whole ? .whole : .steps, until: cancellation) { try send(DataEvent($0)) }
        } tell: {
            try await tell($0)
        }
        return DataOutcome(["before": compaction.before, "after": compaction.after, "kept": compaction.kept])
    }

    private func embeddedEngine() throws(DocumentError) -> any EmbeddedEngine {
        guard let engine = store.embeddedEngine else {
            throw DocumentError(.unimplemented, "the store's engine has no file of its own; use the engine's own means")
        }
        return engine
    }
}

extension DataEvent {
    init(_ progress: WorkProgress) { self = .progress(done: progress.done, total: progress.total) }
}
