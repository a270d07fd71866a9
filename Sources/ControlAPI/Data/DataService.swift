import CommitPipeline
package import ControlProtocol
package import StorageEngine
package import DocumentModel
package import DocumentStore
import RealtimeStore
import StrictJSON
package import UserStore

/// Performs data commands on an open store.
package struct DataService: Sendable {
    /// The bytes after which exported lines are sent.
    private static let exportChunk = 128 * 1024

    let store: DocumentStore
    let database: DatabaseID
    let users: UserStore?
    let databases: DatabaseData?

    /// - Parameters:
    ///   - users: the users on the same store; nil if it has none.
    ///   - databases: the Realtime Databases on the same store; nil if it has none.
    package init(
        _ store: DocumentStore, database: DatabaseID, users: UserStore? = nil, databases: DatabaseData? = nil
    ) {
        self.store = store
        self.database = database
        self.users = users
        self.databases = databases
    }

    /// - Parameters:
    ///   - input: the bytes of the export that an import reads.
    ///   - cancellation: ends a backup, an export, a check or a compaction promptly, even between events. An import and
    ///     a clearing ignore it: they report progress at least every thousand documents, and end if `onEvent` throws.
    ///   - onEvent: receives the events in order. An error that it throws ends the operation.
    /// - Throws: `DocumentError` with a sentence for the operator, `CancellationError`, or any error of `onEvent`.
    package func perform(
        _ request: DataRequest, input: some AsyncSequence<[UInt8], any Error> & Sendable,
        until cancellation: BlockingWork.Cancellation = BlockingWork.Cancellation(),
        onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        do {
            switch request {
            case .backUp(let file, let replacing): return try await backUp(file, replacing, cancellation, onEvent)
            case .export(let selection): return try await export(selection, cancellation, onEvent)
            case .importDocuments(let clearing): return try await importDocuments(input, clearing, onEvent)
            case .check(let repairing): return try await check(repairing, cancellation, onEvent)
            case .compact(let whole): return try await compact(whole, cancellation, onEvent)
            case .clear:
                let count = try await store.clear { try await onEvent(.progress(done: $0, total: nil)) }
                return DataOutcome(["documents": count])
            case .exportDatabase(let place):
                return try await DatabaseExport(databases: try databasesOfStore, place: place).run(
                    until: cancellation, onEvent: onEvent)
            case .importDatabase(let place, let options):
                return try await DatabaseImport(databases: try databasesOfStore, place: place, options: options).run(
                    input, until: cancellation, onEvent: onEvent)
            }
        } catch let error as StorageError {
            throw error.documentError
        } catch {
            throw DocumentError.ofDatabase(error)
        }
    }

    private var databasesOfStore: DatabaseData {
        get throws(DocumentError) {
            guard let databases else { throw DocumentError(.unimplemented, "this store has no Realtime Databases") }
            return databases
        }
    }

    private func backUp(
        _ file: String, _ replacing: Bool, _ cancellation: BlockingWork.Cancellation,
        _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        let engine = try embeddedEngine()
        try OutputPlace.check(file, for: "backup")
        let bytes = try await WorkPipe<DataEvent>.run("data.backup", until: cancellation) { send in
            try engine.copy(to: file, replacing: replacing) { try send(DataEvent($0)) }
        } receive: {
            try await onEvent($0)
        }
        return DataOutcome(["bytes": bytes])
    }

    private func export(
        _ selection: ExportSelection, _ cancellation: BlockingWork.Cancellation,
        _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        let (store, database) = (store, database)
        let hasUsers = users != nil && selection.hasUsers
        let (count, userCount, unreadable) = try await WorkPipe<DataEvent>.run(
            "data.export", until: cancellation
        ) { send in
            var text = JSONWriter()
            var (count, userCount, unreadable) = (0, 0, 0)
            func sendIfFull() throws {
                guard text.bytes.count >= Self.exportChunk else { return }
                try send(.lines(text.bytes))
                text = JSONWriter()
            }
            func skip(_ problem: String) throws {
                unreadable += 1
                try send(.problem(problem))
            }
            func begin(_ time: Timestamp) {
                let header = ExportFormat.Header(
                    database: database, readTime: time, collections: selection.collections, hasUsers: hasUsers)
                ExportFormat.write(header, to: &text)
            }
            func end(_ state: any StorageReader) throws {
                guard hasUsers else { return }
                try UserSnapshot(state).eachUser { user in
                    try ExportFormat.write(user, to: &text)
                    userCount += 1
                    try sendIfFull()
                } damaged: { uid, reason in
                    try skip("the user \"\(uid)\" can't be read: \(reason)")
                }
            }
            if selection == .users {
                try store.read { time, state in
                    begin(time)
                    try end(state)
                }
            } else {
                try store.export(selection.collections, begin: begin) { document in
                    ExportFormat.write(document, to: &text)
                    count += 1
                    try sendIfFull()
                } damaged: {
                    try skip($0)
                } end: {
                    try end($0)
                }
            }
            ExportFormat.writeEnd(count: count, users: hasUsers ? userCount : nil, to: &text)
            try send(.lines(text.bytes))
            return (count, userCount, unreadable)
        } receive: {
            try await onEvent($0)
        }
        var outcome = DataOutcome(["documents": count, "users": userCount])
        if unreadable > 0 { outcome.numbers["unreadable"] = unreadable }
        return outcome
    }

    private func importDocuments(
        _ input: some AsyncSequence<[UInt8], any Error> & Sendable, _ clearing: Bool,
        _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        var work = DocumentImport(self, clearing: clearing)
        do {
            try await work.run(input, onEvent: onEvent)
        } catch let error as DocumentError where work.hasCleared || work.imported + work.importedUsers > 0 {
            let cleared = work.hasCleared ? "the documents from before the import are deleted, at least in part; " : ""
            let users = work.importedUsers > 0 ? " and \(work.importedUsers) users" : ""
            throw DocumentError(
                error.code,
                "\(error.message) (\(cleared)\(work.imported) documents\(users) were already imported and stay; "
                    + "it is safe to import again)")
        }
        return DataOutcome(["documents": work.imported, "users": work.importedUsers])
    }

    private func check(
        _ repairing: Bool, _ cancellation: BlockingWork.Cancellation, _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        // Wait for index builds: a missing entry of an index that is being built is not a problem.
        do {
            try await store.indexesAreDone(until: cancellation)
        } catch let error as DocumentError where error.code == .dataLoss {
            // They can't be built. The check finds the damage, and tells that it has left them out.
        }
        var (result, trees) = try await checkOnce(cancellation, onEvent)
        func isRepairable() -> Bool {
            !result.hasEngineDamage && (result.isRepairable || result.isOutboxRepairable || trees.isRepairable)
        }
        var outcome = [String: Int]()
        if repairing, isRepairable() {
            let before = result.problems
            if trees.isRepairable { _ = try await databases?.store.repairIndexes(until: cancellation) }
            if result.isOutboxRepairable { try await store.outbox.repair() }
            if result.isRepairable {
                try await store.rebuildIndexes(until: cancellation)
                try await store.indexesAreDone(until: cancellation)
            }
            (result, trees) = try await checkOnce(cancellation, onEvent)
            outcome["repaired"] = before - result.problems
        }
        outcome["documents"] = result.documents
        outcome["entries"] = result.entries
        outcome["changes"] = result.changes
        outcome["completions"] = result.completions
        outcome["deliveries"] = result.deliveries
        outcome["events"] = result.events
        outcome["databaseRows"] = trees.rows
        outcome["problems"] = result.problems
        outcome["repairable"] = isRepairable() ? 1 : 0
        outcome["skippedIndexes"] = result.skippedIndexes ? 1 : 0
        return DataOutcome(outcome)
    }

    private func checkOnce(
        _ cancellation: BlockingWork.Cancellation, _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> (CheckResult, TreeCheckResult) {
        let store = store
        return try await WorkPipe<DataEvent>.run("data.check", until: cancellation) { send in
            let found = try store.pipeline.check(
                until: cancellation, report: { try send(.problem($0)) }, progress: { try send(DataEvent($0)) })
            let trees = found.kinds.lazy.compactMap { $0 as? TreeCheckResult }.first
            return (CheckResult(found), trees ?? TreeCheckResult())
        } receive: {
            try await onEvent($0)
        }
    }

    private func compact(
        _ whole: Bool, _ cancellation: BlockingWork.Cancellation, _ onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        let engine = try embeddedEngine()
        let compaction = try await WorkPipe<DataEvent>.run("data.compact", until: cancellation) { send in
            try engine.compact(whole ? .whole : .steps, until: cancellation) { try send(DataEvent($0)) }
        } receive: {
            try await onEvent($0)
        }
        return DataOutcome(["before": compaction.before, "after": compaction.after, "kept": compaction.kept])
    }

    private func embeddedEngine() throws(DocumentError) -> any EmbeddedEngine {
        guard let engine = store.embeddedEngine else {
            throw DocumentError(.unimplemented, "the store's engine doesn't use a file; use the tools of the engine")
        }
        return engine
    }
}

extension DataEvent {
    init(_ progress: WorkProgress) { self = .progress(done: progress.done, total: progress.total) }
}
