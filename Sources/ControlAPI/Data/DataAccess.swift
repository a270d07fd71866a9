import CommitPipeline
package import ControlProtocol
import DataDirectory
import DocumentModel
import DocumentStore
package import HostConfiguration
import HostProcess
import RealtimeStore
import SQLiteStorage
package import StorageEngine
import UserStore

/// Runs data commands: through the host that runs on the data directory, or on the store itself if no host does.
package struct DataAccess: Sendable {
    package let directory: String
    private let database: DatabaseID
    /// The project that the documents belong to.
    package var project: String { database.project }
    private let configuration: HostConfiguration
    /// The name of the store's file in the data directory.
    package static let storeFile = "documents.sqlite"

    package init(_ configuration: HostConfiguration) {
        directory = configuration.data
        database = DatabaseID(project: configuration.project)
        self.configuration = configuration
    }

    /// Performs a request: through the running host if there is one, else with the directory's lock held.
    ///
    /// - Throws: an error whose description is a sentence for the operator.
    package func perform(
        _ request: DataRequest, input: some AsyncSequence<[UInt8], any Error> & Sendable,
        onEvent: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        if let client = try await ControlClient(directory: directory) {
            return try await client.perform(request, input: input, onEvent: onEvent)
        }
        guard request.hasInput || FileStatus(directory + "/version") != nil else {
            throw HostError("the data directory \(directory) does not exist; name another one with --data or --config")
        }
        let owned = try DataDirectory.open(directory)
        defer { owned.close() }
        let engine = try SQLiteEngine(file: owned.file(Self.storeFile))
        if request == .check(repairing: true), try DocumentStore.replaceDamagedCatalog(in: engine) {
            try await onEvent(.problem("the index catalog was damaged and is rebuilt"))
        }
        // With the host's configuration, so that a command doesn't delete history that the host keeps.
        let store = try DocumentStore(
            engine: engine, now: Timestamp.wallClock, commits: configuration.store.commitConfiguration)
        let users = try UserStore(on: store.pipeline, project: database.project)
        let databases = try databases(on: store)
        if case .failure(let damage) = databases {
            try await onEvent(.problem("the Realtime Databases can't be read: \(damage.reason)"))
        }
        try store.start()
        do {
            let service = DataService(store, database: database, users: users, databases: try? databases.get())
            var outcome = try await service.perform(request, input: input, onEvent: onEvent)
            if case .failure = databases, case .check = request { outcome.numbers["problems", default: 0] += 1 }
            await store.shutdown()
            try engine.close()
            return outcome
        } catch {
            await store.shutdown()
            try? engine.close()
            throw error
        }
    }

    /// - Returns: what is damaged, if the databases can't be opened: what doesn't need them works nevertheless.
    private func databases(on store: DocumentStore) throws -> Result<DatabaseData, DecodingFailure> {
        var trees = RealtimeStoreConfiguration()
        trees.createsNamespaces = configuration.mode == .development
        do {
            let store = try RealtimeStore(on: store.pipeline, configuration: trees)
            return .success(DatabaseData(store, configuration, directory: directory))
        } catch let damage as DecodingFailure {
            return .failure(damage)
        }
    }

    /// Checks that a path for a backup or an export is not one of the store's own files.
    ///
    /// - Throws: an error whose description is a sentence for the operator if the path, or that of its temporary file,
    ///   is one of them.
    package func checkIsOutsideStore(_ path: String) throws {
        guard !StoreFile.isPart(path, of: directory + "/" + Self.storeFile) else {
            throw HostError("\(path) is a file of the store in \(directory); name another file")
        }
    }

    /// Replaces the store by a backup. No host may run.
    ///
    /// - Returns: the path that the replaced store was moved to; nil if there was none.
    /// - Throws: an error whose description is a sentence for the operator. The store is unchanged then.
    package func restore(_ backup: String, progress: (WorkProgress) throws -> Void) async throws -> String? {
        guard try await !ControlClient.isListening(directory) else {
            throw HostError("a host runs on \(directory); stop it before you restore a backup")
        }
        let owned = try DataDirectory.open(directory)
        defer { owned.close() }
        return try SQLiteRestore.restore(backup, to: owned.file(Self.storeFile), progress: progress)
    }
}
