import ControlAPI
import ControlProtocol
import DocumentModel
import FunctionsRuntime
@testable import FunctionsTesting
import HostConfiguration
import RealtimeModel
import RealtimeTesting
import TestSupport
import Testing

/// Random writes, transactions over both worlds, exports and imports beside a tree in memory, while a trigger mirrors what
/// changes in documents.
struct DatabaseModelTests {
    private static let steps = 40
    private static let project = "demo-model"

    /// Each `data/{a}/{b}` has a document with the same value, and a count of its changes.
    private struct Mirror: FunctionBundle {
        var functions: [Function] {
            onValueWritten("mirror", reference: "data/{a}/{b}", .ordering(.perReference)) {
                (event: DatabaseEvent<Change<DataSnapshot>>, transaction: Transaction) in
                let name = DatabaseModelTests.document(try event.parameter("a"), try event.parameter("b"))
                let json = try (event.data.after.valueInExportFormat ?? .null).serialized()
                try transaction.setData(
                    ["json": String(decoding: json, as: UTF8.self), "changes": FieldValue.increment(1)],
                    forDocument: transaction.firestore.document(name), merge: true)
                try transaction.database.setValue(
                    ServerValue.increment(1), at: event.database.reference(withPath: "changes"))
            }
        }
    }

    /// Keys may have characters that documents' names can't.
    private static func document(_ a: String, _ b: String) -> String {
        func number(_ key: String) -> Int { RandomValues.keys.firstIndex(of: key) ?? -1 }
        return "mirror/\(number(a))-\(number(b))"
    }

    /// A tester with the commands of an operator.
    private struct Host {
        let tester: FunctionsTester
        let data: DataService
        private let directory: TemporaryDirectory

        init() throws {
            tester = try FunctionsTester(Mirror(), project: DatabaseModelTests.project)
            directory = try TemporaryDirectory()
            let configuration = HostConfiguration(
                project: DatabaseModelTests.project, mode: .development, data: directory.path,
                places: ConfigurationPlaces(file: "/functions.json"))
            data = DataService(
                tester.store, database: DatabaseID(project: DatabaseModelTests.project),
                databases: DatabaseData(tester.trees, configuration, directory: directory.path))
        }

        private func place(_ path: RealtimePath, _ format: DatabasePlace.Format) -> DatabasePlace {
            DatabasePlace(DatabaseModelTests.project + "-default-rtdb", path: path, format: format)
        }

        func export(_ path: RealtimePath, _ format: DatabasePlace.Format) async throws -> [UInt8] {
            var bytes: [UInt8] = []
            _ = try await data.perform(.exportDatabase(place(path, format)), input: OneChunk()) { event in
                if case .bytes(let piece) = event { bytes += piece }
            }
            return bytes
        }

        func importing(
            _ bytes: [UInt8], _ path: RealtimePath, _ format: DatabasePlace.Format, inSteps: Bool
        ) async throws {
            _ = try await data.perform(
                .importDatabase(place(path, format), DatabaseImportOptions(inSteps: inSteps)),
                input: OneChunk(bytes: bytes)
            ) { _ in }
        }
    }

    private struct OneChunk: AsyncSequence, Sendable {
        typealias Failure = any Error
        var bytes: [UInt8]?

        struct AsyncIterator: AsyncIteratorProtocol {
            var bytes: [UInt8]?

            mutating func next() async throws -> [UInt8]? {
                defer { bytes = nil }
                return bytes
            }
        }

        func makeAsyncIterator() -> AsyncIterator { AsyncIterator(bytes: bytes) }
    }

    @Test(.endsHangs) func everythingIsAsInTheTreeInMemory() async throws {
        try await FuzzRounds.run("the tree with its triggers", count: 12) { random, seed in
            try await run(&random, "seed \(seed)")
        }
    }

    private func run(_ random: inout SeededGenerator, _ place: String) async throws {
        let (host, other) = (try Host(), try Host())
        var tree = RealtimeTree()
        var changes: [String: Int] = [:]
        for step in 1...Self.steps {
            let before = tree
            let what: Comment = "\(place), step \(step)"
            try await act(host, other, &tree, &random, what)
            // What the mirror has counted belongs to the tree too.
            try await host.tester.deliverAll()
            var count = 0
            for a in RandomValues.keys {
                for b in RandomValues.keys {
                    let path = RealtimePath(unchecked: ["data", a, b].map { RealtimeKey(unchecked: $0) })
                    guard before[path] != tree[path] else { continue }
                    count += 1
                    changes[Self.document(a, b), default: 0] += 1
                    let mirrored = try await host.tester.firestore.document(Self.document(a, b)).getDocument()
                    #expect(mirrored["json"] == .string(text(tree[path])), what)
                    #expect(mirrored["changes"]?.intValue == changes[Self.document(a, b)], what)
                }
            }
            if count > 0 {
                tree.apply(
                    .set(
                        try RealtimeTarget("changes"),
                        try RealtimeWriteValue(
                            parsing: Array(#"{".sv":{"increment":\#(count)}}"#.utf8), at: RealtimeTarget("changes"))),
                    now: 0)
            }
            let exported = try await host.export(.root, .json)
            #expect(String(decoding: exported, as: UTF8.self) == text(tree.root) + "\n", what)
        }
        for (document, count) in changes {
            let mirrored = try await host.tester.firestore.document(document).getDocument()
            #expect(mirrored["changes"]?.intValue == count, "\(place)")
        }
        let checked = try await host.data.perform(.check(repairing: false), input: OneChunk()) { _ in }
        #expect(checked["problems"] == 0, "\(place)")
    }

    private func act(
        _ host: Host, _ other: Host, _ tree: inout RealtimeTree, _ random: inout SeededGenerator, _ what: Comment
    ) async throws {
        let path = RealtimePath(unchecked: [RealtimeKey(unchecked: "data")] + RandomValues.path(&random).keys)
        let json = random.once(in: 6) ? "null" : RandomValues.json(&random)
        let target = RealtimeTarget(path)
        let value = try RealtimeWriteValue(parsing: Array(json.utf8), at: target)
        let reference = host.tester.database.reference(withPath: path.string)
        switch Int.random(in: 0..<6, using: &random) {
        case 0:
            try await reference.setValue(try JSONValue(parsing: Array(json.utf8)))
            tree.apply(.set(target, value), now: 0)
        case 1:
            // One commit of a document and the node, after both were read.
            let name = "\(random.next())"
            try await host.tester.firestore.runTransaction { transaction in
                let document = transaction.firestore.document("both/\(name)")
                _ = try await transaction.getDocument(document)
                let found = try await transaction.database.getData(reference)
                try transaction.setData(["existed": found.exists()], forDocument: document)
                try transaction.database.setValue(try JSONValue(parsing: Array(json.utf8)), at: reference)
            }
            let written = try await host.tester.firestore.document("both/\(name)").getDocument()
            #expect(written["existed"] == .boolean(tree[path] != nil), what)
            tree.apply(.set(target, value), now: 0)
        case 2, 3:
            let inSteps = Bool.random(using: &random)
            // By way of another database, whose export in either format is what is imported here.
            let format = random.pick(DatabasePlace.Format.allCases)
            try await other.importing(Array(json.utf8), path, .json, inSteps: false)
            let exported = try await other.export(path, format)
            try await host.importing(exported, path, format, inSteps: inSteps)
            guard inSteps else {
                tree.apply(.set(target, value), now: 0)
                return
            }
            for write in Self.writes(of: try node(json), at: path) { tree.apply(write, now: 0) }
        case 4:
            let exported = try await host.export(path, .json)
            #expect(String(decoding: exported, as: UTF8.self) == text(tree[path]) + "\n", what)
            // A second time it is the same, and changes nothing.
            try await host.importing(exported, path, .json, inSteps: false)
        default:
            let exported = try await host.export(path, .jsonl)
            try await other.importing(exported, path, .jsonl, inSteps: false)
            #expect(try await other.export(path, .json) == host.export(path, .json), what)
        }
    }

    /// The writes of an import in steps: all leaves, and then the priorities of objects.
    private static func writes(of node: RealtimeNode?, at path: RealtimePath) -> [RealtimeWrite] {
        var leaves: [RealtimeWrite] = []
        var priorities: [RealtimeWrite] = []
        func add(_ node: RealtimeNode, _ path: RealtimePath) {
            if node.leaf != nil {
                leaves.append(.set(RealtimeTarget(path), RealtimeWriteValue(node)))
                return
            }
            for child in node.children { add(child.node, RealtimePath(unchecked: path.keys + [child.key])) }
            guard let priority = node.priority else { return }
            priorities.append(
                .set(RealtimeTarget(path, isPriority: true), RealtimeWriteValue(RealtimeNode(priority.leaf))))
        }
        if let node { add(node, path) }
        return leaves + priorities
    }
}
