import ControlAPI
import DocumentModel
import HostConfiguration
import Hummingbird
import Logging
import RealtimeModel
import ServiceLifecycle
import SQLiteStorage
import StorageEngine
import TestSupport
import Testing

@testable import ControlProtocol

/// Data commands reach databases through a host and without one.
@Suite(.endsHangs) struct DatabaseAccessTests {
    private static let place = DatabasePlace(DatabaseFixture.name)
    private static let tree =
        #"{"error":{"bytes":1},"rooms":{"r1":{".value":"x",".priority":2}},"z":"\#(String(repeating: "z", count: 300_000))"}"#

    private func export(
        _ place: DatabasePlace, _ perform: (DataRequest, (DataEvent) async throws -> Void) async throws -> DataOutcome
    ) async throws -> String {
        var bytes: [UInt8] = []
        let outcome = try await perform(.exportDatabase(place)) { event in
            if case .bytes(let piece) = event { bytes += piece }
        }
        #expect(outcome["bytes"] == bytes.count)
        return String(decoding: bytes, as: UTF8.self)
    }

    /// Nothing that a tree contains is taken for a line of the protocol.
    @Test func aHostExportsAndImports() async throws {
        let fixture = try DatabaseFixture()
        let logger = Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })
        let directory = try TemporaryDirectory()
        let server = ControlServer(
            directory: directory.path, topics: [DataTopic(service: fixture.service)],
            group: EventLoopGroupProvider.singleton.eventLoopGroup, logger: logger, libraryLogger: logger)
        let services = ServiceGroup(configuration: .init(services: [.init(service: server)], logger: logger))
        async let serving: Void = services.run()
        func perform(
            _ request: DataRequest, _ input: Chunks, _ onEvent: (DataEvent) async throws -> Void
        ) async throws -> DataOutcome {
            var client: ControlClient?
            while client == nil {
                client = try await ControlClient(directory: directory.path)
                await Task.yield()
            }
            return try await #require(client).perform(request, input: input, onEvent: onEvent)
        }
        let request = DataRequest.importDatabase(Self.place, DatabaseImportOptions())
        let outcome = try await perform(request, Chunks(Self.tree)) { _ in }
        #expect(outcome["nodes"] == 3)
        #expect(outcome["bytes"] == Self.tree.utf8.count)
        for format in DatabasePlace.Format.allCases {
            let place = DatabasePlace(DatabaseFixture.name, format: format)
            let text = try await export(place) { try await perform($0, Chunks(), $1) }
            #expect(try await text == fixture.export(format))
        }
        let error = await #expect(throws: DocumentError.self) { _ = try await perform(request, Chunks("{")) { _ in } }
        #expect(error?.code == .invalidArgument)
        let unknown = DatabasePlace("demo-unknown")
        await #expect(throws: DocumentError.self) {
            _ = try await export(unknown) { try await perform($0, Chunks(), $1) }
        }
        #expect(try await fixture.export() == Self.tree + "\n")
        await services.triggerGracefulShutdown()
        try await serving
        try await fixture.close()
    }

    @Test func withoutAHostTheStoreIsUsedItself() async throws {
        let directory = try TemporaryDirectory()
        let access = DataAccess(DatabaseFixture.configuration(.production, in: directory))
        let request = DataRequest.importDatabase(Self.place, DatabaseImportOptions())
        _ = try await access.perform(request, input: Chunks(Self.tree)) { _ in }
        #expect(
            try await export(Self.place) { try await access.perform($0, input: Chunks(), onEvent: $1) } == Self.tree
                + "\n")
        let fixture = try DatabaseFixture(.production, in: directory)
        #expect(try await fixture.export() == Self.tree + "\n")
        try await fixture.close()
        await #expect(throws: DocumentError.self) {
            _ = try await access.perform(
                .importDatabase(DatabasePlace("demo-unknown"), DatabaseImportOptions()), input: Chunks("1")
            ) { _ in }
        }
    }

    @Test func withoutAHostIndexesAreCheckedAndRepaired() async throws {
        let directory = try TemporaryDirectory()
        let access = DataAccess(DatabaseFixture.configuration(.development, in: directory))
        func check(repairing: Bool) async throws -> (outcome: DataOutcome, problems: [String]) {
            var problems: [String] = []
            let outcome = try await access.perform(.check(repairing: repairing), input: Chunks()) { event in
                if case .problem(let problem) = event { problems.append(problem) }
            }
            return (outcome, problems)
        }
        let tree = Chunks(#"{"a":{"x":{".value":1,".priority":1},"y":{".value":2,".priority":2}}}"#)
        _ = try await access.perform(.importDatabase(Self.place, DatabaseImportOptions()), input: tree) { _ in }
        var (outcome, problems) = try await check(repairing: false)
        #expect(problems == [])
        #expect(outcome["databaseRows"] == 4)
        let engine = try SQLiteEngine(file: directory.file("documents.sqlite"))
        try engine.write { storage in
            var entries: [[UInt8]] = []
            try storage.scan(.tree, KeyRange(prefix: [1]), reverse: false) { key, row in
                if row.isEmpty { entries.append(key) }
                return true
            }
            #expect(entries.count == 2)
            try storage.delete(.tree, entries[0])
        }
        try engine.close()
        (outcome, problems) = try await check(repairing: false)
        #expect(problems == ["the database \"demo-default-rtdb\": /a/x isn't found by its priority"])
        #expect(outcome["problems"] == 1 && outcome["repairable"] == 1)
        (outcome, _) = try await check(repairing: true)
        #expect(outcome["problems"] == 0 && outcome["repaired"] == 1)
        (outcome, problems) = try await check(repairing: false)
        #expect(outcome["problems"] == 0 && problems == [])
    }

    /// The rest of the data can still be checked, backed up and exported.
    @Test func damagedNamespacesAreAProblemOfACheck() async throws {
        let directory = try TemporaryDirectory()
        let access = DataAccess(DatabaseFixture.configuration(.development, in: directory))
        _ = try await access.perform(
            .importDatabase(Self.place, DatabaseImportOptions()), input: Chunks("1")
        ) { _ in }
        let engine = try SQLiteEngine(file: directory.file("documents.sqlite"))
        try engine.write { storage in
            var key: [UInt8]?
            try storage.scanKeys(.tree, KeyRange(prefix: [2]), reverse: false) { found in
                key = found
                return false
            }
            try storage.put(.tree, try #require(key), [1])
        }
        try engine.close()
        var problems: [String] = []
        let outcome = try await access.perform(.check(repairing: true), input: Chunks()) { event in
            if case .problem(let problem) = event { problems.append(problem) }
        }
        #expect(problems.count == 1 && problems[0].contains("can't be read"))
        #expect(outcome["problems"] == 1)
        #expect(try await access.perform(.export(.everything), input: Chunks()) { _ in }["documents"] == 0)
        await #expect(throws: DocumentError.self) {
            _ = try await access.perform(.exportDatabase(Self.place), input: Chunks()) { _ in }
        }
    }
}
