import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Synchronization
import Testing

@Suite struct TransactionTests {
    /// Runs one transaction that has brought `prefetched`, and answers reads from `script`.
    private func run<Result: Sendable>(
        _ prefetched: [TransactionRead] = [], _ script: [DocumentResponse] = [],
        _ body: @Sendable (Transaction) async throws -> Result
    ) async throws -> (Result, [DocumentRequest]) {
        let transport = ScriptedTransport([.began(1, prefetched)] + script + [.committed(0)])
        let result = try await Firestore(transport: transport).runTransaction(body)
        return (result, transport.requests)
    }

    @Test func onlyWhatWasNotBroughtIsAskedFor() async throws {
        let brought = try stored("a/1", ["n": 1])
        let fetched = try stored("a/3", ["n": 3])
        let (snapshots, requests) = try await run(
            [.document(try DocumentPath("a/1"), brought), .document(try DocumentPath("a/2"), nil)],
            [.documents([fetched, nil])]
        ) { transaction in
            let collection = transaction.firestore.collection("a")
            return try await transaction.getAll(["1", "3", "2", "4"].map { collection.document($0) })
        }
        #expect(snapshots.map(\.documentID) == ["1", "3", "2", "4"])
        #expect(snapshots.map { $0["n"] } == [1, 3, nil, nil])
        #expect(snapshots.map(\.exists) == [true, true, false, false])
        let missing = [try DocumentPath("a/3"), try DocumentPath("a/4")]
        #expect(requests[1] == .get(missing, .transaction(TransactionID(rawValue: 1))))
    }

    @Test func sameQueryIsServedFromWhatWasBrought() async throws {
        var model = DocumentModel.Query(collectionID: "a")
        model.orderBy = [.init(FieldPath(segments: ["n"]))]
        let (ids, requests) = try await run(
            [.query(model, [try stored("a/1", [:])])], [.results([], readTime: DocumentResponse.time)]
        ) { transaction in
            let query = transaction.firestore.collection("a").order(by: "n")
            let brought = try await transaction.getDocuments(query)
            let asked = try await transaction.getDocuments(query.limit(to: 1))
            return brought.documents.map(\.documentID) + asked.documents.map(\.documentID)
        }
        #expect(ids == ["1"])
        #expect(requests.count == 3)
    }

    @Test func readAfterWriteIsRefused() async throws {
        let (error, _) = try await run { transaction in
            let document = transaction.firestore.document("a/b")
            try transaction.setData(["x": 1], forDocument: document)
            return await #expect(throws: DocumentError.self) { try await transaction.getDocument(document) }
        }
        #expect(error?.code == .failedPrecondition)
        #expect(
            error?.message == "reads must come before writes in a transaction; move this read before the first write")
    }

    @Test func transactionIsOfNoUseAfterItsEnd() async throws {
        let (transaction, _) = try await run { $0 }
        let document = transaction.firestore.document("a/b")
        let read = await #expect(throws: DocumentError.self) { try await transaction.getDocument(document) }
        let write = #expect(throws: DocumentError.self) { try transaction.deleteDocument(document) }
        #expect(read?.code == .failedPrecondition)
        #expect(write?.message.hasPrefix("the transaction has ended") == true)
    }

    @Test func batchIsOneCommitAndUsedOnce() async throws {
        let transport = ScriptedTransport([.committed(2)])
        let firestore = Firestore(transport: transport)
        let batch = firestore.batch()
        try batch.create(["x": true], forDocument: firestore.document("a/b"))
        try batch.deleteDocument(firestore.document("a/c"))
        try await batch.commit()
        let writes = [
            Write(
                path: try DocumentPath("a/b"), operation: .set(["x": .boolean(true)]), precondition: .exists(false)),
            Write(path: try DocumentPath("a/c"), operation: .delete),
        ]
        #expect(transport.requests == [.commit(writes, transaction: nil, completing: nil)])
        await #expect(throws: DocumentError.self) { try await batch.commit() }
        #expect(throws: DocumentError.self) { try batch.deleteDocument(firestore.document("a/c")) }
    }
}
