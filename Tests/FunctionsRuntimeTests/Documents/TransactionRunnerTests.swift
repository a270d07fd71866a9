import DocumentModel
import WorkerProtocol
import FunctionsRuntime
import Synchronization
import Testing

@Suite struct TransactionRunnerTests {
    private static let first = TransactionID(rawValue: 1)
    private static let second = TransactionID(rawValue: 2)

    private func addOne(_ transaction: Transaction) async throws -> Int64 {
        let counter = transaction.firestore.document("counters/c")
        let value = try await transaction.getDocument(counter)["n"]
        guard case .integer(let count)? = value else { throw DocumentError(.notFound, "no counter") }
        try transaction.updateData(["n": count + 1], forDocument: counter)
        return count + 1
    }

    private func update(to value: Int64) throws -> Write {
        Write(
            path: try DocumentPath("counters/c"),
            operation: .update(["n": .integer(value)], mask: [FieldPath(segments: ["n"])]),
            precondition: .exists(true))
    }

    @Test func readsAndWritesAreOneCommitWithTheAnswer() async throws {
        let path = try DocumentPath("counters/c")
        let transport = ScriptedTransport([
            .began(1), .documents([try stored("counters/c", ["n": 4])]), .committed(1),
        ])
        let outcome = try await TransactionRunner(transport: transport).run(completing: { [UInt8($0)] }, addOne)
        guard case .committed(5, let result) = outcome else {
            Issue.record("the outcome is \(outcome)")
            return
        }
        #expect(result.commitTime == DocumentResponse.time)
        #expect(
            transport.requests == [
                .begin(.readWrite(retrying: nil)), .get([path], .transaction(Self.first)),
                .commit([try update(to: 5)], transaction: Self.first, completing: [5]),
            ])
    }

    @Test func lostCommitIsTriedAgainOnWhatTheStoreBrings() async throws {
        let path = try DocumentPath("counters/c")
        let transport = ScriptedTransport([
            .began(1), .documents([try stored("counters/c", ["n": 4])]), .aborted,
            .began(2, [.document(path, try stored("counters/c", ["n": 9]))]), .committed(1),
        ])
        let result = try await Firestore(transport: transport).runTransaction(addOne)
        #expect(result == 10)
        #expect(
            Array(transport.requests.suffix(2)) == [
                .begin(.readWrite(retrying: Self.first)),
                .commit([try update(to: 10)], transaction: Self.second, completing: nil),
            ])
    }

    @Test func lostReadIsTriedAgainWhateverTheBodyMakesOfIt() async throws {
        struct Reworded: Error {}
        let transport = ScriptedTransport([
            .began(1), .aborted, .began(2), .aborted, .began(3), .documents([nil]), .committed(0),
        ])
        let runs = Mutex(0)
        let exists = try await Firestore(transport: transport).runTransaction { transaction in
            let run = runs.withLock { runs in
                runs += 1
                return runs
            }
            do {
                return try await transaction.getDocument(transaction.firestore.document("a/b")).exists
            } catch {
                // The first time the abort is reworded, the second time it is swallowed.
                if run == 1 { throw Reworded() }
                return true
            }
        }
        #expect(!exists)
        #expect(runs.withLock { $0 } == 3)
        #expect(transport.requests.contains(.begin(.readWrite(retrying: Self.second))))
        #expect(!transport.requests.contains { if case .rollback = $0 { true } else { false } })
    }

    @Test func attemptsEnd() async throws {
        let transport = ScriptedTransport([.began(1), .aborted, .aborted, .began(3), .aborted])
        let error = await #expect(throws: DocumentError.self) {
            try await Firestore(transport: transport).runTransaction(attempts: 3) { _ in }
        }
        #expect(error?.code == .aborted)
        let begins = transport.requests.filter { if case .begin = $0 { true } else { false } }
        let retry = DocumentRequest.begin(.readWrite(retrying: Self.first))
        #expect(begins == [.begin(.readWrite(retrying: nil)), retry, retry])
    }

    @Test func failureOfTheBodyRollsBackAndIsThrown() async throws {
        struct OutOfStock: Error {}
        let transport = ScriptedTransport([.began(1)])
        await #expect(throws: OutOfStock.self) {
            try await Firestore(transport: transport).runTransaction { transaction in
                try transaction.deleteDocument(transaction.firestore.document("a/b"))
                throw OutOfStock()
            }
        }
        #expect(transport.requests == [.begin(.readWrite(retrying: nil)), .rollback(Self.first)])
    }

    @Test func answerThatCannotBeWrittenRollsBack() async throws {
        struct Unwritable: Error {}
        let transport = ScriptedTransport([.began(1)])
        await #expect(throws: Unwritable.self) {
            _ = try await TransactionRunner(transport: transport).run(completing: { _ in throw Unwritable() }) { _ in }
        }
        #expect(transport.requests.last == .rollback(Self.first))
    }

    @Test func refusedCommitIsFinal() async throws {
        let transport = ScriptedTransport([.began(1), .failed(DocumentError(.invalidArgument, "too large"))])
        let error = await #expect(throws: DocumentError.self) {
            try await Firestore(transport: transport).runTransaction { _ in }
        }
        #expect(error?.code == .invalidArgument)
        #expect(transport.requests.last == .rollback(Self.first))
    }

    @Test(
        arguments: [
            [.completed([7])], [.began(1), .completed([7])], [.began(1), .aborted, .completed([7])],
        ] as [[DocumentResponse]])
    func workDoneBeforeAnswersAsThen(script: [DocumentResponse]) async throws {
        let outcome = try await TransactionRunner(transport: ScriptedTransport(script)).run { _ in }
        guard case .completed([7]) = outcome else {
            Issue.record("the outcome is \(outcome)")
            return
        }
    }

    @Test func aBodyThatFailsOnWhatAnEarlierTryHasDoneAnswersAsThen() async throws {
        let transport = ScriptedTransport([.began(1)], toRollback: .completed([7]))
        let outcome = try await TransactionRunner(transport: transport).run { _ in
            throw DocumentError(.failedPrecondition, "the cart is empty")
        }
        guard case .completed([7]) = outcome else { throw DocumentError(.unknown, "\(outcome)") }
        #expect(transport.requests.last == .rollback(Self.first))
    }

    @Test func cancelledTransactionIsRolledBack() async throws {
        let transport = ScriptedTransport([.began(1)])
        let task = Task {
            try await Firestore(transport: transport).runTransaction { transaction in
                try transaction.deleteDocument(transaction.firestore.document("a/b"))
                withUnsafeCurrentTask { $0?.cancel() }
            }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transport.requests.last == .rollback(Self.first))
    }

    @Test func cancelledTaskDoesNotBegin() async throws {
        let transport = ScriptedTransport([.began(1)])
        let task = Task {
            withUnsafeCurrentTask { $0?.cancel() }
            try await Firestore(transport: transport).runTransaction { _ in }
        }
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(transport.requests.isEmpty)
    }
}
