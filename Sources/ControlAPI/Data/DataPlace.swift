package import ControlProtocol
import DataDirectory
import DocumentModel
package import DocumentStore
package import HostConfiguration
import HostProcess
import SQLiteStorage
package import StorageEngine

/// Where the data of a command are: with the host that runs on them, or in a directory that nobody has open.
package struct DataPlace: Sendable {
    private let directory: String
    private let database: DatabaseID
    private let bounds: StoreConfiguration
    /// The store's file in the data directory.
    package static let file = "documents.sqlite"

    package init(_ configuration: HostConfiguration) {
        directory = configuration.data
        database = DatabaseID(project: configuration.project)
        bounds = configuration.store.storeConfiguration
    }

    /// Does something: through the host where one runs, else under the directory's lock.
    ///
    /// - Throws: an error whose description is a sentence for the operator.
    package func perform(
        _ request: DataRequest, input: some AsyncSequence<[UInt8], any Error> & Sendable,
        tell: (DataEvent) async throws -> Void
    ) async throws -> DataOutcome {
        if let client = try await ControlClient(directory: directory) {
            return try await client.perform(request, input: input, onEvent: tell)
        }
        let mayBeNew = if case .importDocuments = request { true } else { false }
        guard mayBeNew || FileStatus(directory + "/version") != nil else {
            throw HostError("there is no data directory \(directory); name another one with --data or --config")
        }
        let owned = try DataDirectory.open(directory)
        defer { owned.close() }
        let engine = try SQLiteEngine(file: owned.file(Self.file))
        if request == .check(repairing: true), try DocumentStore.replaceDamagedCatalog(in: engine) {
            try await tell(.problem("the catalog of indexes was damaged; it is made anew"))
        }
        // What the host is to keep isn't trimmed by a command.
        let store = try DocumentStore(engine: engine, now: Timestamp.now, configuration: bounds)
        try store.start()
        do {
            let outcome = try await DataService(store, database: database).perform(request, input: input, onEvent: tell)
            await store.shutdown()
            try engine.close()
            return outcome
        } catch {
            await store.shutdown()
            try? engine.close()
            throw error
        }
    }

    /// - Throws: an error whose description is a sentence for the operator, where a file of this path, or the draft of
    ///   one, would stand in the place of the store or of what belongs to it.
    package func checkIsElsewhere(_ path: String) throws {
        guard !StoreFile.isPart(path, of: directory + "/" + Self.file) else {
            throw HostError("\(path) belongs to the store of \(directory) itself; name a file elsewhere")
        }
    }

    /// Puts a backup in the store's place, while no host runs.
    ///
    /// - Returns: where the store that was there stands now; nil where there was none.
    /// - Throws: an error whose description is a sentence for the operator. The store is then what it was.
    package func restore(_ backup: String, progress: (WorkProgress) throws -> Void) async throws -> String? {
        guard try await !ControlClient.isListening(directory) else {
            throw HostError("a host runs on \(directory); stop it before its data are replaced")
        }
        let owned = try DataDirectory.open(directory)
        defer { owned.close() }
        return try SQLiteRestore.restore(backup, to: owned.file(Self.file), progress: progress)
    }
}
