import CommitPipeline
import ControlAPI
import ControlProtocol
import DocumentModel
import DocumentStore
import HostConfiguration
import RealtimeModel
import RealtimeStore
import SQLiteStorage
import StorageEngine
import TestSupport
import Testing

/// A store with databases, and the data commands on it.
final class DatabaseFixture: Sendable {
    static let name = "demo-default-rtdb"

    let directory: TemporaryDirectory
    let engine: SQLiteEngine
    let documents: DocumentStore
    let store: RealtimeStore
    let service: DataService

    init(_ mode: HostConfiguration.Mode = .development, in directory: TemporaryDirectory? = nil) throws {
        let directory = try directory ?? TemporaryDirectory()
        self.directory = directory
        engine = try SQLiteEngine(file: directory.file("documents.sqlite"))
        documents = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        var trees = RealtimeStoreConfiguration()
        trees.createsNamespaces = mode == .development
        store = try RealtimeStore(on: documents.pipeline, configuration: trees)
        let configuration = Self.configuration(mode, in: directory)
        service = DataService(
            documents, database: DatabaseID(project: "demo"),
            databases: DatabaseData(store, configuration, directory: directory.path))
        try documents.start()
    }

    static func configuration(_ mode: HostConfiguration.Mode, in directory: TemporaryDirectory) -> HostConfiguration {
        var configuration = HostConfiguration(
            project: "demo", mode: mode, data: directory.path, places: ConfigurationPlaces(file: "/functions.json"))
        configuration.database.namespaces = ["demo-other"]
        return configuration
    }

    func close() async throws {
        await documents.shutdown()
        try engine.close()
    }

    // MARK: Commands

    func export(
        _ format: DatabasePlace.Format = .json, _ path: String = "", of name: String = DatabaseFixture.name
    ) async throws -> String {
        var bytes: [UInt8] = []
        let place = try DatabasePlace(name, path: path, format: format)
        let outcome = try await service.perform(.exportDatabase(place), input: Chunks()) { event in
            if case .bytes(let piece) = event { bytes += piece }
        }
        #expect(outcome["bytes"] == bytes.count)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The lines of an export without the first one, which has the time.
    func exportedRows(_ path: String = "") async throws -> [Substring] {
        Array(try await export(.jsonl, path).split(separator: "\n").dropFirst())
    }

    @discardableResult
    func importing(
        _ text: String, _ format: DatabasePlace.Format = .json, _ path: String = "",
        into name: String = DatabaseFixture.name, inSteps: Bool = false, firesEvents: Bool = true
    ) async throws -> Int {
        try await importing(
            Chunks(text, bytes: 1_000), format, path, into: name, inSteps: inSteps, firesEvents: firesEvents)
    }

    @discardableResult
    func importing(
        _ input: Chunks, _ format: DatabasePlace.Format = .json, _ path: String = "",
        into name: String = DatabaseFixture.name, inSteps: Bool = false, firesEvents: Bool = true
    ) async throws -> Int {
        let request = DataRequest.importDatabase(
            try DatabasePlace(name, path: path, format: format),
            DatabaseImportOptions(inSteps: inSteps, firesEvents: firesEvents))
        return try await service.perform(request, input: input) { _ in }["nodes"]
    }

    /// Sets what JSON says.
    func set(_ path: String, _ json: String) async throws {
        let target = try RealtimeTarget(path)
        let value = try RealtimeWriteValue(parsing: Array(json.utf8), at: target)
        try await store.commit(RealtimeCommit([.set(target, value)], in: Self.name))
    }

    func check(repairing: Bool = false) async throws -> DataOutcome {
        try await service.perform(.check(repairing: repairing), input: Chunks()) { _ in }
    }
}

/// The bytes of a text in pieces, after which the input may break off.
struct Chunks: AsyncSequence, Sendable {
    typealias Failure = any Error

    struct BrokenOff: Error {}

    var pieces: [[UInt8]] = []
    var breaksOff = false

    init(_ text: String = "", bytes count: Int = 1 << 16, breaksOff: Bool = false) {
        let bytes = Array(text.utf8)
        pieces = stride(from: 0, to: bytes.count, by: count).map { Array(bytes[$0...].prefix(count)) }
        self.breaksOff = breaksOff
    }

    struct AsyncIterator: AsyncIteratorProtocol {
        var rest: ArraySlice<[UInt8]>
        let breaksOff: Bool

        mutating func next() async throws -> [UInt8]? {
            if let piece = rest.popFirst() { return piece }
            if breaksOff { throw BrokenOff() }
            return nil
        }
    }

    func makeAsyncIterator() -> AsyncIterator { AsyncIterator(rest: pieces[...], breaksOff: breaksOff) }
}
