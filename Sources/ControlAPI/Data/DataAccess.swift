import CommitPipeline
package import ControlProtocol
import DataDirectory
import DocumentModel
import DocumentStore
import EmbeddedStorage
package import HostConfiguration
import HostProcess
import RealtimeStore
package import StorageEngine
import UserStore

/// Runs data commands: through the host that runs on the data directory, or on the store itself if no host does.
package struct DataAccess: Sendable {
    package let directory: String
    private let database: DatabaseID
    /// The project that the documents belong to.
    package var project: String { database.project }
    private let configuration: HostConfiguration
    private var embedded: EmbeddedStore { EmbeddedStore(in: directory, engine: configuration.store.engine) }

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
        let engine = try embedded.open()
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

    /// Checks that a path for an export isn't that of something which a host needs, or of something else than a file.
    ///
    /// - Parameter isDirectory: whether the export is a directory.
    /// - Throws: an error whose description is a sentence for the operator if the path, or that of its temporary file,
    ///   is one of them.
    package func checkIsForOutput(_ path: String, isDirectory: Bool = false) throws {
        guard !embedded.isPart(path) else {
            throw HostError("\(path) is a file of the store in \(directory); name another file")
        }
        try OutputPlace.check(path, for: "export")
        guard isDirectory || !StoreFile.isDirectory(path) else {
            throw HostError("\(path) is a directory; name a file for the export")
        }
    }

    /// Replaces the store by a backup. No host may run.
    ///
    /// - Returns: the path that the replaced store was moved to; nil if there was none.
    /// - Throws: an error whose description is a sentence for the operator. The store is unchanged then.
    package func restore(_ backup: String, progress: (WorkProgress) throws -> Void) async throws -> String? {
        let owned = try await own("restore a backup")
        defer { owned.close() }
        guard let other = otherDirectory(withStore: backup) else {
            return try embedded.restore(backup, progress: progress)
        }
        // A host that runs there would change the files while they are copied, one after the other.
        return try DataDirectory.whileUnused(other) { try embedded.restore(backup, progress: progress) }
    }

    /// The data directory whose store a path is; nil if it is that of a backup, or of the store to be replaced.
    private func otherDirectory(withStore path: String) -> String? {
        let places = StoreFile.places(of: path)
        guard places.count > 1, DataDirectory.isOne(places[1]),
            EmbeddedEngineKind.allCases.contains(where: { EmbeddedStore(in: places[1]).path($0) == places[0] }),
            FileStamp(places[1])?.identity != FileStamp(directory)?.identity
        else { return nil }
        return places[1]
    }

    /// Moves the store to another engine. No host may run.
    ///
    /// - Parameter kind: the engine; nil for the one that the configuration names.
    /// - Returns: the rows that were moved, and the path that the old store was moved to.
    /// - Throws: an error whose description is a sentence for the operator. The store is unchanged then.
    package func migrate(
        to kind: EmbeddedEngineKind?, progress: @escaping (WorkProgress) throws -> Void
    ) async throws -> (rows: Int, aside: String) {
        guard FileStatus(directory + "/version") != nil else {
            throw HostError("the data directory \(directory) does not exist; name another one with --data or --config")
        }
        let owned = try await own("move the data to another engine")
        defer { owned.close() }
        return try embedded.migrate(to: kind, progress: progress)
    }

    /// - Parameter purpose: what the directory is needed for, in errors.
    private func own(_ purpose: String) async throws -> DataDirectory {
        guard try await !ControlClient.isListening(directory) else {
            throw HostError("a host runs on \(directory); stop it before you \(purpose)")
        }
        return try DataDirectory.open(directory)
    }
}
