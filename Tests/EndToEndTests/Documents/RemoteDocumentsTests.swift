import StorageEngine
import DocumentModel
import FunctionsRuntime
import DocumentStore
import FirestoreClient
import Foundation
import FunctionsRuntime
import Testing
import WorkerProtocol

/// Documents at another place answer functions as the embedded store does.
struct RemoteDocumentsTests {
    private static let database = DatabaseID(project: "demo-shop")

    private func firestore(at port: Int) throws -> RemoteFirestore {
        try .fromEnvironment(
            project: Self.database.project, environment: ["FIRESTORE_EMULATOR_HOST": "127.0.0.1:\(port)"])
    }

    @Test func anotherHostAnswersAsTheEmbeddedStore() async throws {
        try await RunningHost.serving { host in
            try await compare(host.firestore.port) { try await $0.conflicts() }
            try await count(host.firestore.port, times: 10, side: 8)
            try await once(host.firestore.port)
            try await split(host.firestore.port)
            try await listed(host.firestore.port)
            try await streamed(host.firestore.port)
        }
    }

    @Test(
        .enabled(
            if: OfficialEmulator.isInstalled,
            "the official emulator is not installed: apt-get install google-cloud-cli-firestore-emulator, and Java"))
    func theOfficialEmulatorAnswersAsTheEmbeddedStore() async throws {
        let emulator = try await OfficialEmulator()
        do {
            try await compare(emulator.client.port)
            try await count(emulator.client.port, times: 5, side: 3)
            try await once(emulator.client.port)
            try await tree(emulator.client.port)
            try await listed(emulator.client.port)
            try await streamed(emulator.client.port)
        } catch {
            try await emulator.stop()
            throw error
        }
        try await emulator.stop()
    }

    private func embedded(
        _ beyond: (inout DocumentScript) async throws -> Void
    ) async throws -> [DocumentScript.Entry] {
        let store = try DocumentStore(engine: MemoryEngine(), now: Timestamp.wallClock)
        try store.start()
        var script = DocumentScript(store, database: Self.database)
        try await script.run()
        try await beyond(&script)
        await store.shutdown()
        return script.entries
    }

    private func compare(
        _ port: Int, beyond: (inout DocumentScript) async throws -> Void = { _ in }
    ) async throws {
        let remote = try firestore(at: port)
        let expected = try await embedded(beyond)
        var script = DocumentScript(remote, database: Self.database)
        try await script.run()
        try await beyond(&script)
        #expect(script.entries.count == expected.count)
        // Scripts that are refused as a whole would be equal too.
        #expect(expected.count { $0.isRefused } < 12)
        for (entry, expected) in zip(script.entries, expected) { #expect(entry == expected) }
        remote.release(owner: 1)
        await remote.shutdown()
    }

    /// Adds one to a counter so many times at once, each in a transaction of the runtime's.
    private func count(_ port: Int, times: Int, side: Int) async throws {
        let remote = try firestore(at: port)
        let path = try DocumentPath("alone-counter/all")
        let n = FieldPath(segments: ["n"])
        try await withThrowingTaskGroup(of: Void.self) { group in
            for owner in 0..<side {
                group.addTask {
                    let transport = RemoteTransport(
                        documents: remote, database: Self.database, context: OperationContext(owner: UInt64(owner)))
                    for _ in 0..<times {
                        let firestore = Firestore(transport: transport)
                        try await firestore.runTransaction(.readWrite(attempts: 30)) { transaction in
                            let reference = firestore.document(path.string)
                            let old = try await transaction.getDocument(reference)[n.description]
                            guard case .integer(let number) = old ?? .integer(0) else { return }
                            try transaction.setData([n.description: Int(number) + 1], forDocument: reference)
                        }
                    }
                    remote.release(owner: UInt64(owner))
                }
            }
            try await group.waitForAll()
        }
        let script = DocumentScript(remote, database: Self.database)
        guard case .documents(let found, _) = await script.perform(.get([path], .strong)) else {
            Issue.record("the counter can't be read")
            return
        }
        #expect(found.first??.fields == ["n": .integer(Int64(times * side))])
        await remote.shutdown()
    }

    /// Many calls under one key at once: one does the work, and all have its answer.
    private func once(_ port: Int) async throws {
        let remote = try firestore(at: port)
        let key = CompletionKey(scope: "buy/ada", key: "k", fingerprint: [1])
        let commits = try await withThrowingTaskGroup(of: [UInt8]?.self) { group in
            for owner in 0..<4 {
                group.addTask {
                    let transport = RemoteTransport(
                        documents: remote, database: Self.database,
                        context: OperationContext(owner: UInt64(owner), completion: key))
                    defer { remote.release(owner: UInt64(owner)) }
                    let outcome = try await TransactionRunner(
                        transport: transport, options: .readWrite(attempts: 30)
                    ).run(completing: { [UInt8($0)] }) { transaction in
                        let reference = transaction.firestore.document("alone-once/all")
                        let old = try await transaction.getDocument(reference)
                        #expect(!old.exists)
                        try transaction.setData(["by": owner], forDocument: reference)
                        return owner
                    }
                    switch outcome {
                    case .committed(let owner, _): return [UInt8(owner)]
                    case .completed(let answer): return answer
                    }
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(Set(commits).count == 1)
        let other = CompletionKey(scope: "buy/ada", key: "k", fingerprint: [2])
        let refused = try await remote.begin(in: OperationContext(owner: 9, completion: other))
        #expect(refused == .keyReused)
        await remote.shutdown()
    }

    /// What is below a document or a collection is found page by page, and nothing beside it.
    private func tree(_ port: Int) async throws {
        let remote = try firestore(at: port)
        let below = ["alone-tree/a", "alone-tree/a/s/x", "alone-tree/a/s/x/t/y", "alone-tree/none/s/x", "alone-tree/z"]
        let beside = ["alone-tree!/a", "alone-tre/a", "alone-treee/a"]
        for path in below + beside {
            _ = try await remote.commit([Write(path: try DocumentPath(path), operation: .set([:]))])
        }
        func all(_ parent: String?, _ id: String?) async throws -> [String] {
            var page = Descendants(parent: try parent.map { try DocumentPath($0) }, collectionID: id, limit: 2)
            var found: [String] = []
            while let last = try await remote.descendants(page).last {
                found += try await remote.descendants(page).map(\.string)
                page.after = last
            }
            return found.sorted()
        }
        #expect(try await all(nil, "alone-tree") == below)
        #expect(try await all("alone-tree/a", nil) == Array(below[1...2]))
        #expect(try await remote.collectionIDs(below: try DocumentPath("alone-tree/none")) == ["s"])
        await remote.shutdown()
    }

    /// A collection's documents are listed page by page, with those that are missing, and without those of others.
    private func listed(_ port: Int) async throws {
        let remote = try firestore(at: port)
        let ids = ["a", "b c+d", "ü:%?#", "x", "y", "z"]
        for id in ids {
            let place = ["b c+d", "y"].contains(id) ? "/s/t" : ""
            let path = try DocumentPath("alone-listed/\(id)\(place)")
            _ = try await remote.commit([Write(path: path, operation: .set(["f": .integer(1)]))])
        }
        _ = try await remote.commit([Write(path: try DocumentPath("alone-listed2/a"), operation: .set([:]))])
        let transport = RemoteTransport(documents: remote, database: Self.database, context: OperationContext(owner: 1))
        let collection = Firestore(transport: transport).collection("alone-listed")
        #expect(try await collection.listDocuments().map(\.documentID) == ids.sorted())
        #expect(try await collection.document("b c+d").collection("s").listDocuments().map(\.documentID) == ["t"])
        var page = DocumentListing(try CollectionPath("alone-listed"), limit: 2)
        var found: [String] = []
        repeat {
            let answer = try await remote.list(page)
            #expect(answer.ids.count <= 2)
            found += answer.ids
            page.token = answer.next
        } while page.token != nil
        #expect(found == ids.sorted())
        await remote.shutdown()
    }

    /// A query's pages together are what it finds at once.
    private func streamed(_ port: Int) async throws {
        let remote = try firestore(at: port)
        let transport = RemoteTransport(documents: remote, database: Self.database, context: OperationContext(owner: 1))
        let firestore = Firestore(transport: transport)
        let items = firestore.collection("alone-streamed")
        let batch = firestore.batch()
        for number in 0..<11 {
            try batch.setData(["n": number % 3, "m": ["x": number % 2]], forDocument: items.document("i\(number)"))
        }
        try await batch.commit()
        for query in [
            items.query, items.order(by: "n", descending: true), items.whereField("n", isGreaterThan: 0),
            items.order(by: "n").select(["m.x"]), items.order(by: "m.x").offset(1).limit(to: 7),
            firestore.collectionGroup("alone-streamed"),
        ] {
            var found: [DocumentSnapshot] = []
            for try await document in query.stream(pageSize: 2) { found.append(document) }
            #expect(found == (try await query.getDocuments().documents))
        }
        await remote.shutdown()
    }

    /// What is split lies between documents that are there, and an explanation tells what was read.
    private func split(_ port: Int) async throws {
        let remote = try firestore(at: port)
        let script = DocumentScript(remote, database: Self.database)
        var query = DocumentModel.Query(collectionID: "alone-split", allDescendants: true)
        query.orderBy = [.init(.documentID)]
        let writes = try (0..<100).map { number in
            Write(path: try DocumentPath("alone-split/d\(number + 100)"), operation: .set([:]))
        }
        _ = await script.perform(.batchWrite(writes))
        guard case .partitioned(let points, _) = await script.perform(.partition(query, points: 3, .strong)) else {
            Issue.record("not split")
            return
        }
        #expect(points.count == 3)
        #expect(Set(points).isSubset(of: writes.map(\.path)))
        #expect(points.map(\.string) == points.map(\.string).sorted())
        query.limit = 5
        guard
            case .explained(let explanation, let results, _, _) = await script.perform(
                .explain(query, [], analyze: true, .strong))
        else {
            Issue.record("not explained")
            return
        }
        #expect(results.count == 5)
        #expect(explanation.cost?.documentsReturned == 5)
        #expect(!explanation.indexes.isEmpty || !explanation.steps.isEmpty)
        #expect(try await remote.collectionIDs(below: nil).contains("alone-split"))
        await remote.shutdown()
    }
}

/// One invocation's operations, as they come over its link.
private struct RemoteTransport: DocumentTransport {
    let documents: RemoteFirestore
    let database: DatabaseID
    let context: OperationContext

    func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
        let response = await request.perform(on: FunctionBackends(documents: documents), in: context)
        if case .failed(let error) = response { throw error }
        return response
    }
}
