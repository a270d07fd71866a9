import DocumentModel
import Testing
import WorkerProtocol

@testable import DocumentStore

/// A worker's transaction that begins with its first read.
struct BeginReadingTests {
    private func perform(_ request: DocumentRequest, on test: TestStore) async -> DocumentResponse {
        await request.perform(on: FunctionBackends(documents: test.store))
    }

    @Test func whatWasReadIsTheTransactions() async throws {
        try await withStore { test in
            let (a, b) = (try DocumentPath("c/a"), try DocumentPath("c/b"))
            try await test.set("c/a", ["n": .integer(1)])
            let response = await perform(.beginReading(.documents([a, b])), on: test)
            guard case .began(let id, let read) = response else { throw DocumentError(.unknown, "\(response)") }
            #expect(read == [.document(a, try await test.store.get([a]).documents[0]), .document(b, nil)])
            // Another changes what it has read: its commit is refused.
            try await test.set("c/a", ["n": .integer(2)])
            let write = Write(path: b, operation: .set([:]))
            let end = await perform(.commit([write], transaction: id, completing: nil), on: test)
            guard case .failed(let error) = end else { throw DocumentError(.unknown, "\(end)") }
            #expect(error.code == .aborted)
        }
    }

    @Test func aQueryIsRead() async throws {
        try await withStore { test in
            try await test.set("c/a", ["n": .integer(1)])
            let query = Query(collectionID: "c")
            let response = await perform(.beginReading(.query(query)), on: test)
            guard case .began(_, let read) = response else { throw DocumentError(.unknown, "\(response)") }
            #expect(read == [.query(query, try await test.store.query(query).documents)])
        }
    }

    @Test func aReadThatIsRefusedIsLeftToTheTransaction() async throws {
        try await withStore { test in
            var query = Query(collectionID: "c")
            query.limit = -1
            let response = await perform(.beginReading(.query(query)), on: test)
            guard case .began(let id, let read) = response else { throw DocumentError(.unknown, "\(response)") }
            #expect(read.isEmpty)
            let again = await perform(.query(query, .transaction(id)), on: test)
            guard case .failed(let error) = again else { throw DocumentError(.unknown, "\(again)") }
            #expect(error.code == .invalidArgument)
            #expect(await perform(.rollback(id), on: test) == .rolledBack)
        }
    }
}
