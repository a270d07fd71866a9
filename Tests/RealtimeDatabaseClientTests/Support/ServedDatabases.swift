import DocumentModel
import DocumentStore
import Foundation
import FunctionStores
import FunctionsRuntime
import Logging
import NIOCore
import NIOPosix
import OutboundHTTP
import RealtimeAPI
@testable import RealtimeDatabaseClient
import RealtimeStore
import StorageEngine
import TestSupport
import WorkerProtocol

/// A store's Realtime Database, as a function reaches it.
struct ServedDatabases {
    enum Way: Sendable, CaseIterable {
        /// Within the host.
        case onHost
        /// From a bundle that is served alone, by the port's REST API.
        case byREST
    }

    private struct Transport: DocumentTransport {
        let backends: FunctionBackends
        let context: OperationContext
        var database: DatabaseID { DatabaseID(project: "demo") }

        func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
            let response = await request.perform(on: backends, in: context)
            if case .failed(let error) = response { throw error }
            return response
        }
    }

    private static let name = "demo-default-rtdb"

    /// Runs a body with the database.
    ///
    /// - Parameter rules: for their indexes.
    static func run(
        _ way: Way, rules: String = #"{"rules":{}}"#, _ body: (Database) async throws -> Void
    ) async throws {
        let documents = try DocumentStore(engine: MemoryEngine(), now: Timestamp.wallClock)
        let store = try RealtimeStore(on: documents.pipeline)
        try documents.start()
        let service = StoreRealtimeService(
            store, names: [name], isDevelopment: true,
            spool: Spool(directory: FileManager.default.temporaryDirectory.path), logger: Logger(label: "test"),
            now: { Timestamp.wallClock().microseconds / 1000 })
        let database = try service.database(name)
        let result = await withCheckedContinuation { continuation in
            database.setRules(Array(rules.utf8), isDryRun: false) { continuation.resume(returning: $0) }
        }
        try result.get()
        let owner = OperationContext(owner: 1)
        switch way {
        case .onHost:
            let databases = FunctionDatabases(store, names: FunctionDatabases.Names(own: name))
            let backends = FunctionBackends(documents: documents, databases: databases)
            try await body(Database(transport: Transport(backends: backends, context: owner)))
            databases.release(owner: 1)
        case .byREST:
            let port = try await port(of: service)
            let client = OutboundClient(clock: ManualClock())
            let databases = RemoteDatabases(
                DatabaseService(
                    location: DatabaseLocation(emulator: "127.0.0.1:\(port.port)", own: name), transport: client,
                    streams: OutboundClient(clock: ManualClock()), tokens: nil, pause: { _ in }))
            let backends = FunctionBackends(documents: documents, databases: databases)
            do {
                try await body(Database(transport: Transport(backends: backends, context: owner)))
            } catch {
                databases.release(owner: 1)
                try await port.stop()
                throw error
            }
            databases.release(owner: 1)
            try await port.stop()
        }
        await documents.shutdown()
    }

    private static func port(of service: StoreRealtimeService) async throws -> RealtimePort {
        let credentials = RealtimeCredentials(isDevelopment: true) { _, completion in
            completion(.failure(.invalidToken))
        }
        var parts = RealtimeParts(
            service: service, credentials: credentials, now: { Timestamp.wallClock().microseconds / 1000 },
            logger: Logger(label: "test"))
        // A machine that stands still for a minute ends nothing.
        parts.port.transfer = .hours(24)
        parts.port.idle = .hours(24)
        parts.port.keepAlive = .hours(24)
        return try await RealtimePort.start(
            parts, group: MultiThreadedEventLoopGroup.singleton, host: "127.0.0.1", port: 0, grace: .milliseconds(100))
    }
}
