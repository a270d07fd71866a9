import ControlProtocol
import DataDirectory
import DocumentModel
import DocumentStore
import EmbeddedStorage
import HostConfiguration
import StorageEngine

/// The store of a data directory on which no host runs, for the time of one command. No host can start meanwhile.
enum StoppedStore {
    /// Asks the host that runs on the data directory, or else the store itself.
    ///
    /// - Throws: an error whose description is a sentence for the operator; `NoRunningHost` if there is no data directory
    ///   either.
    static func answer<Answer: Decodable>(
        _ request: ControlRequest, _ configuration: HostConfiguration,
        offline: (DocumentStore) async throws -> Answer
    ) async throws -> Answer {
        do {
            return try await HostControl(configuration.data).ask(request, as: Answer.self)
        } catch let error as NoRunningHost {
            guard FileStatus(configuration.data + "/version") != nil else { throw error }
        }
        let owned = try DataDirectory.open(configuration.data)
        defer { owned.close() }
        let engine = try EmbeddedStore(in: owned.path, engine: configuration.store.engine).open()
        let store = try DocumentStore(
            engine: engine, now: Timestamp.wallClock, commits: configuration.store.commitConfiguration)
        try store.start()
        do {
            let answer = try await offline(store)
            await store.shutdown()
            try engine.close()
            return answer
        } catch {
            await store.shutdown()
            try? engine.close()
            throw error
        }
    }
}
