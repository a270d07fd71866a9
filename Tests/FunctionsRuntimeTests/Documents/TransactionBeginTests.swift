import DocumentModel
import FunctionsRuntime
import Synchronization
import TestSupport
import Testing
import WorkerProtocol

/// A transaction whose first read begins it.
@Suite(.endsHangs) struct TransactionBeginTests {
    private static let first = TransactionID(rawValue: 1)

    private struct Stopped: Error {}

    private func transport(_ script: DocumentResponse...) -> ScriptedTransport {
        ScriptedTransport(script, beginsWithReads: true)
    }

    private func stored(_ n: Int64, at path: DocumentPath) throws -> TransactionRead {
        .document(path, try FunctionsRuntimeTests.stored(path.string, ["n": .integer(n)]))
    }

    @Test func theFirstReadBegins() async throws {
        let (a, b) = (try DocumentPath("c/a"), try DocumentPath("c/b"))
        let transport = transport(
            .began(1, [try stored(1, at: a), .document(b, nil)]), .documents([nil]), .committed(0))
        try await Firestore(transport: transport).runTransaction { transaction in
            let firestore = transaction.firestore
            let read = try await transaction.getAll([firestore.document("c/a"), firestore.document("c/b")])
            #expect(read.map(\.exists) == [true, false])
            // What is known isn't read again.
            #expect(try await transaction.getDocument(firestore.document("c/a"))["n"] == .integer(1))
            _ = try await transaction.getDocument(firestore.document("c/x"))
        }
        #expect(
            transport.requests == [
                .beginReading(.documents([a, b])), .get([try DocumentPath("c/x")], .transaction(Self.first)),
                .commit([], transaction: Self.first, completing: nil),
            ])
    }

    @Test func aQueryBegins() async throws {
        let query = Query(collectionID: "c")
        let found = try FunctionsRuntimeTests.stored("c/a", [:])
        let transport = transport(.began(1, [.query(query, [found])]), .committed(0))
        try await Firestore(transport: transport).runTransaction { transaction in
            let read = try await transaction.getDocuments(transaction.firestore.collection("c"))
            #expect(read.documents.map(\.documentID) == ["a"])
        }
        #expect(transport.requests.first == .beginReading(.query(query)))
    }

    /// The store leaves out what finds no room in one answer.
    @Test func whatIsNotBroughtIsReadAgain() async throws {
        let path = try DocumentPath("c/a")
        let transport = transport(.began(1), .documents([nil]), .committed(0))
        try await Firestore(transport: transport).runTransaction { transaction in
            _ = try await transaction.getDocument(transaction.firestore.document("c/a"))
        }
        #expect(transport.requests[1] == .get([path], .transaction(Self.first)))
    }

    @Test func writesWithoutReadsNeedNoTransaction() async throws {
        let transport = transport(.committed(1))
        let path = try DocumentPath("c/a")
        try await Firestore(transport: transport).runTransaction { transaction in
            try transaction.deleteDocument(transaction.firestore.document("c/a"))
        }
        #expect(
            transport.requests == [
                .commit([Write(path: path, operation: .delete)], transaction: nil, completing: nil)
            ])
    }

    @Test func aBodyThatFailsBeforeItReadsLeavesNothingToRollBack() async throws {
        let transport = transport()
        await #expect(throws: Stopped.self) {
            try await Firestore(transport: transport).runTransaction { _ in throw Stopped() }
        }
        #expect(transport.requests.isEmpty)
    }

    @Test func aBodyThatFailsAfterwardsRollsBack() async throws {
        let transport = transport(.began(1, [.document(try DocumentPath("c/a"), nil)]))
        await #expect(throws: Stopped.self) {
            try await Firestore(transport: transport).runTransaction { transaction in
                _ = try await transaction.getDocument(transaction.firestore.document("c/a"))
                throw Stopped()
            }
        }
        #expect(transport.requests.last == .rollback(Self.first))
    }

    @Test func theNextReadBeginsIfTheFirstOneCouldNot() async throws {
        let (a, b) = (try DocumentPath("c/a"), try DocumentPath("c/b"))
        let transport = transport(
            .failed(DocumentError(.resourceExhausted, "too many transactions")), .began(1, [.document(b, nil)]),
            .committed(0))
        try await Firestore(transport: transport).runTransaction { transaction in
            let firestore = transaction.firestore
            await #expect(throws: DocumentError.self) { try await transaction.getDocument(firestore.document("c/a")) }
            _ = try await transaction.getDocument(firestore.document("c/b"))
        }
        #expect(transport.requests.prefix(2) == [.beginReading(.documents([a])), .beginReading(.documents([b]))])
    }

    @Test func aLostTransactionIsTriedAgainByItsName() async throws {
        let path = try DocumentPath("c/a")
        let transport = transport(
            .aborted, .began(1, [.document(path, nil)]), .aborted, .began(2, [.document(path, nil)]), .committed(0))
        try await Firestore(transport: transport).runTransaction { transaction in
            _ = try await transaction.getDocument(transaction.firestore.document("c/a"))
        }
        let begins = transport.requests.filter { if case .commit = $0 { false } else { true } }
        let read = DocumentRequest.beginReading(.documents([path]))
        #expect(begins == [read, read, .begin(.readWrite(retrying: Self.first))])
    }

    /// Answers the first request only once all reads have been asked for.
    private final class SlowTransport: DocumentTransport {
        let database = DatabaseID(project: "demo-test")
        let beginsWithReads = true
        private let seen = Mutex<[DocumentRequest]>([])

        var requests: [DocumentRequest] { seen.withLock { $0 } }

        func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
            seen.withLock { $0.append(request) }
            switch request {
            case .beginReading(.documents(let paths)):
                for _ in 0..<1000 { await Task.yield() }
                return .began(1, paths.map { .document($0, nil) })
            case .get(let paths, _): return .documents(paths.map { _ in nil })
            default: return .committed(0)
            }
        }
    }

    /// Answers the first read once it is released.
    private final class HeldTransport: DocumentTransport {
        let database = DatabaseID(project: "demo-test")
        let beginsWithReads = true
        let asked = AsyncStream.makeStream(of: Void.self)
        let released = AsyncStream.makeStream(of: Void.self)

        func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
            switch request {
            case .beginReading:
                asked.continuation.finish()
                for await _ in released.stream {}
                return .began(1)
            case .get(let paths, _): return .documents(paths.map { _ in nil })
            case .query: return .results([], readTime: DocumentResponse.time)
            default: return .committed(0)
            }
        }
    }

    private static func read(
        _ isQuery: Bool, _ items: CollectionReference, in transaction: Transaction
    ) async throws {
        if isQuery {
            _ = try await transaction.getDocuments(items)
        } else {
            _ = try await transaction.getDocument(items.document("a"))
        }
    }

    /// A read that another task began before the write.
    @Test(arguments: [true, false])
    func aWriteWhileTheFirstReadBeginsDoesNotRefuseIt(isQuery: Bool) async throws {
        let transport = HeldTransport()
        try await Firestore(transport: transport).runTransaction { transaction in
            let items = transaction.firestore.collection("c")
            async let read: Void = Self.read(isQuery, items, in: transaction)
            for await _ in transport.asked.stream {}
            try transaction.deleteDocument(items.document("b"))
            transport.released.continuation.finish()
            try await read
        }
    }

    /// Fails the first begin once it is released, and takes its time for the others.
    private final class FailingTransport: DocumentTransport {
        let database = DatabaseID(project: "demo-test")
        let beginsWithReads = true
        let asked = AsyncStream.makeStream(of: Void.self)
        let released = AsyncStream.makeStream(of: Void.self)
        private let seen = Mutex<[DocumentRequest]>([])

        var requests: [DocumentRequest] { seen.withLock { $0 } }

        func send(_ request: DocumentRequest) async throws(DocumentError) -> DocumentResponse {
            let isFirst = seen.withLock { seen in
                seen.append(request)
                return seen.count == 1
            }
            switch request {
            case .beginReading where isFirst:
                asked.continuation.finish()
                for await _ in released.stream {}
                throw DocumentError(.unavailable, "the store can't be reached")
            case .beginReading:
                for _ in 0..<1000 { await Task.yield() }
                return .began(1)
            case .get(let paths, _): return .documents(paths.map { _ in nil })
            case .rollback: return .rolledBack
            default: return .committed(0)
            }
        }
    }

    /// The body doesn't wait for its reads, of which the first one can't begin.
    @Test func whatAReadBeginsAfterAnotherCouldNotIsRolledBack() async throws {
        let transport = FailingTransport()
        let reads = Mutex<[Task<Void, Never>]>([])
        await #expect(throws: Stopped.self) {
            try await Firestore(transport: transport).runTransaction { transaction in
                let items = transaction.firestore.collection("c")
                let first = Task<Void, Never> { _ = try? await transaction.getDocument(items.document("a")) }
                for await _ in transport.asked.stream {}
                let second = Task<Void, Never> { _ = try? await transaction.getDocument(items.document("b")) }
                reads.withLock { $0 = [first, second] }
                // Usually the second read waits by then, and the transaction is being closed before the release.
                for _ in 0..<1000 { await Task.yield() }
                Task {
                    for _ in 0..<1000 { await Task.yield() }
                    transport.released.continuation.finish()
                }
                throw Stopped()
            }
        }
        for read in reads.withLock({ $0 }) { await read.value }
        let begins = transport.requests.filter { if case .beginReading = $0 { true } else { false } }
        let rollbacks = transport.requests.filter { $0 == .rollback(Self.first) }
        #expect(begins.count - 1 == rollbacks.count)
    }

    @Test func readsAtOnceBeginOneTransaction() async throws {
        let transport = SlowTransport()
        try await Firestore(transport: transport).runTransaction { transaction in
            try await withThrowingTaskGroup { group in
                for number in 0..<20 {
                    group.addTask {
                        _ = try await transaction.getDocument(transaction.firestore.document("c/\(number)"))
                    }
                }
                try await group.waitForAll()
            }
        }
        let begins = transport.requests.filter { if case .beginReading = $0 { true } else { false } }
        #expect(begins.count == 1)
        #expect(transport.requests.count == 21)
        #expect(
            transport.requests.allSatisfy { request in
                if case .get(_, let consistency) = request { consistency == .transaction(Self.first) } else { true }
            })
    }
}
