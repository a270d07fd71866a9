import OutboundHTTP
import DocumentModel
@testable import FirestoreClient
import Synchronization
import OutboundHTTP
import Testing

/// Transactions at a remote service: their ids, retries, idempotency keys and cleanup.
struct RemoteTransactionsTests {
    private typealias Step = ScriptedService.Step
    private static let committed = #"{"writeResults":[{}],"commitTime":"1970-01-01T00:00:01Z"}"#
    private static let lost = #"{"error":{"code":409,"message":"lost","status":"ABORTED"}}"#
    private let owner = OperationContext(owner: 7)

    private static func begun(_ id: String) -> String { #"{"transaction":"\#(id)"}"# }

    private func begin(
        _ scripted: ScriptedFirestore, retrying: TransactionID? = nil, in context: OperationContext? = nil
    ) async throws -> TransactionID {
        let answer = try await scripted.firestore.begin(.readWrite(retrying: retrying), in: context ?? owner)
        guard case .began(let id, prefetched: []) = answer else { throw DocumentError(.unknown, "\(answer)") }
        return id
    }

    private func commit(
        _ scripted: ScriptedFirestore, _ id: TransactionID?, completing: [UInt8]? = nil,
        in context: OperationContext? = nil
    ) async throws(DocumentError) -> CommitAnswer {
        let write = Write(path: try DocumentPath("c/a"), operation: .delete)
        return try await scripted.firestore.commit(
            [write], transaction: id, completing: completing, in: context ?? owner)
    }

    @Test func readsAndCommitCarryTheServicesOwnID() async throws {
        let scripted = ScriptedFirestore([
            Step(":beginTransaction", with: #"{"options":{"readWrite":{}}}"#, Self.begun("AQID")),
            Step(":runQuery", with: #""transaction":"AQID""#, "[]"),
            Step(":commit", with: #""transaction":"AQID""#, Self.committed),
        ])
        let id = try await begin(scripted)
        let query = Query(collectionID: "c")
        #expect(
            try await scripted.firestore.query(query, .transaction(id), in: owner)
                == QueryAnswer(documents: [], readTime: Timestamp(microseconds: 9_000_000)))
        let response = try await commit(scripted, id)
        #expect(
            response
                == .committed(
                    CommitResult(
                        commitTime: Timestamp(microseconds: 1_000_000),
                        writeResults: [WriteResult(updateTime: nil, transformResults: [])])))
        let ended = DocumentError.invalidArgument(
            "this transaction is not open: it has ended, or was never begun")
        await #expect(throws: ended) { try await commit(scripted, id) }
        await #expect(throws: ended) { try await scripted.firestore.query(query, .transaction(id), in: owner) }
        #expect(scripted.script.isDone)
    }

    @Test func onlyItsOwnerCanUseATransaction() async throws {
        let scripted = ScriptedFirestore([Step(":beginTransaction", Self.begun("AQID"))])
        let id = try await begin(scripted)
        for context in [OperationContext(owner: 8), OperationContext()] {
            await #expect { try await commit(scripted, id, in: context) } throws: {
                ($0 as? DocumentError)?.code == .invalidArgument
            }
        }
    }

    @Test func aRetryNamesTheLostTransactionAfterAPause() async throws {
        let scripted = ScriptedFirestore([
            Step(":beginTransaction", Self.begun("AQID")), Step(":commit", status: 409, Self.lost),
            Step(":beginTransaction", with: #"{"readWrite":{"retryTransaction":"AQID"}}"#, Self.begun("BAUG")),
            Step(":batchGet", with: #""transaction":"BAUG""#, status: 409, Self.lost),
            // A transaction that lost in a read is still open, so it is rolled back first.
            Step(":rollback", with: #"{"transaction":"BAUG"}"#, "{}"),
            Step(":beginTransaction", with: #"{"readWrite":{"retryTransaction":"BAUG"}}"#, Self.begun("BwgJ")),
            Step(":commit", with: #""transaction":"BwgJ""#, Self.committed),
        ])
        let first = try await begin(scripted)
        await #expect(throws: DocumentError(.aborted, "lost")) { try await commit(scripted, first) }
        let second = try await begin(scripted, retrying: first)
        await #expect(throws: DocumentError(.aborted, "lost")) {
            try await scripted.firestore.get([DocumentPath("c/a")], .transaction(second), in: owner)
        }
        let third = try await begin(scripted, retrying: second)
        _ = try await commit(scripted, third)
        #expect(scripted.script.isDone)
        try #require(scripted.pauses.all.count == 2)
        #expect((0.05...0.1).contains(scripted.pauses.all[0]))
        #expect((0.1...0.2).contains(scripted.pauses.all[1]))
        #expect(scripted.firestore.transactions.withLock { $0.count } == 0)
        #expect(scripted.firestore.transactions.withLock { $0.ownerCount } == 0)
    }

    @Test func aRetryAfterAFailedBeginStillNamesTheFirst() async throws {
        let scripted = ScriptedFirestore([
            Step(":beginTransaction", Self.begun("AQID")), Step(":commit", status: 409, Self.lost),
            Step(":beginTransaction", with: #""retryTransaction":"AQID""#, status: 409, Self.lost),
            Step(":beginTransaction", with: #""retryTransaction":"AQID""#, Self.begun("BAUG")),
        ])
        let first = try await begin(scripted)
        _ = try? await commit(scripted, first)
        await #expect(throws: DocumentError(.aborted, "lost")) { try await begin(scripted, retrying: first) }
        _ = try await begin(scripted, retrying: first)
        #expect(scripted.script.isDone)
        #expect((0.1...0.2).contains(scripted.pauses.all.last ?? 0))
        #expect(scripted.firestore.transactions.withLock { $0.count } == 1)
    }

    @Test func transactionsThatAnInvocationLeavesOpenAreRolledBack() async throws {
        let scripted = ScriptedFirestore([
            Step(":beginTransaction", Self.begun("AQID")), Step(":beginTransaction", Self.begun("BAUG")),
            Step(":commit", status: 409, Self.lost), Step(":rollback", with: #"{"transaction":"AQID"}"#, "{}"),
        ])
        _ = try await begin(scripted)
        let second = try await begin(scripted)
        _ = try? await commit(scripted, second)
        scripted.firestore.release(owner: 8)
        scripted.firestore.release(owner: 7)
        await scripted.firestore.shutdown()
        #expect(scripted.script.isDone)
        #expect(scripted.firestore.transactions.withLock { $0.count } == 0)
    }

    @Test func aRefusedCommitCanStillBeRolledBack() async throws {
        let refusal = #"{"error":{"code":400,"message":"no","status":"FAILED_PRECONDITION"}}"#
        let scripted = ScriptedFirestore([
            Step(":beginTransaction", Self.begun("AQID")), Step(":commit", status: 400, refusal),
            Step(":rollback", with: #"{"transaction":"AQID"}"#, "{}"),
        ])
        let id = try await begin(scripted)
        await #expect(throws: DocumentError(.failedPrecondition, "no")) { try await commit(scripted, id) }
        #expect(try await scripted.firestore.rollback(id, in: owner) == .rolledBack)
        #expect(scripted.script.isDone)
    }

    @Test func tasksAndEventsAreRefused() async throws {
        let scripted = ScriptedFirestore([])
        let task = TaskDraft(queue: "q", body: [])
        let error = await #expect(throws: DocumentError.self) {
            try await scripted.firestore.commit([], effects: [.enqueue(task)], in: owner)
        }
        #expect(error?.code == .failedPrecondition)
        #expect(error?.message.contains("a standalone function can't enqueue tasks") == true)
    }

    // MARK: Keys

    private static let key = CompletionKey(scope: "buy/ada", key: "k", fingerprint: [1])
    private let keyed = OperationContext(owner: 7, completion: key)

    /// The document of the kept answer 5, with a fingerprint in base64.
    private func kept(fingerprint: String = "AQ==", expires: String = "10") throws -> String {
        let name = ScriptedFirestore.root + "/" + (try RemoteCompletion.path(of: Self.key).string)
        return """
            {"found":{"name":"\(name)","fields":{"fingerprint":{"bytesValue":"\(fingerprint)"},\
            "answer":{"bytesValue":"BQ=="},"expires":{"timestampValue":"1970-01-01T00:00:\(expires)Z"}},\
            "createTime":"\(ScriptedFirestore.time)","updateTime":"\(ScriptedFirestore.time)"},\
            "readTime":"\(ScriptedFirestore.time)"}
            """
    }

    private func missing() throws -> String {
        let name = ScriptedFirestore.root + "/" + (try RemoteCompletion.path(of: Self.key).string)
        return #"{"missing":"\#(name)","readTime":"\#(ScriptedFirestore.time)"}"#
    }

    @Test func anAnswerIsKeptUnderItsKeyInTheCallsCommit() async throws {
        let scripted = ScriptedFirestore([
            Step(":batchGet", with: #""newTransaction":{"readWrite":{}}"#, "[\(Self.begun("AQID")),\(try missing())]"),
            Step(
                ":commit", with: #""currentDocument":{"exists":false}}],"transaction":"AQID""#,
                #"{"writeResults":[{},{"updateTime":"1970-01-01T00:00:01Z"}],"commitTime":"1970-01-01T00:00:01Z"}"#),
        ])
        let id = try await begin(scripted, in: keyed)
        guard case .committed(let result) = try await commit(scripted, id, completing: [5], in: keyed) else {
            Issue.record("not committed")
            return
        }
        #expect(result.writeResults.count == 1)
        #expect(scripted.script.isDone)
        let body = String(decoding: scripted.script.seen.last?.body ?? [], as: UTF8.self)
        #expect(body.contains(#""answer":{"bytesValue":"BQ=="}"#))
        // Seven days.
        #expect(
            body.contains(#""expires":{"timestampValue":"1970-01-08T00:00:09.000000Z"}"#)
                || body.contains("1970-01-08T00:00:09Z"))
    }

    @Test func aCallWithAKeptAnswerDoesNotRunAgain() async throws {
        let scripted = ScriptedFirestore([
            Step(":batchGet", "[\(Self.begun("AQID")),\(try kept())]"),
            Step(":rollback", with: #"{"transaction":"AQID"}"#, "{}"),
        ])
        #expect(try await scripted.firestore.begin(in: keyed) == .completed([5]))
        #expect(scripted.script.isDone)
    }

    @Test func aKeyThatWasUsedWithOtherDataIsRefused() async throws {
        let scripted = ScriptedFirestore([
            Step(":batchGet", "[\(Self.begun("AQID")),\(try kept(fingerprint: "Ag=="))]"), Step(":rollback", "{}"),
        ])
        #expect(try await scripted.firestore.begin(in: keyed) == .keyReused)
    }

    @Test func anExpiredAnswerIsReplaced() async throws {
        let scripted = ScriptedFirestore([
            Step(":batchGet", "[\(Self.begun("AQID")),\(try kept(expires: "09"))]"),
            Step(
                ":commit",
                with: #""currentDocument":{"updateTime":"\#(ScriptedFirestore.time)"}}],"transaction":"AQID""#,
                #"{"writeResults":[{},{}],"commitTime":"1970-01-01T00:00:01Z"}"#),
        ])
        let id = try await begin(scripted, in: keyed)
        _ = try await commit(scripted, id, completing: [6], in: keyed)
        #expect(scripted.script.isDone)
    }

    @Test func aRollbackFindsOutWhetherALostCommitSucceeded() async throws {
        let scripted = ScriptedFirestore([
            Step(":batchGet", "[\(Self.begun("AQID")),\(try missing())]"), .failure(":commit", .lost),
            Step(
                ":rollback", with: #"{"transaction":"AQID"}"#, status: 400,
                #"{"error":{"code":400,"status":"INVALID_ARGUMENT"}}"#),
            Step(":batchGet", "[\(try kept())]"),
        ])
        let id = try await begin(scripted, in: keyed)
        let error = await #expect(throws: DocumentError.self) {
            try await commit(scripted, id, completing: [5], in: keyed)
        }
        #expect(error?.code == .unavailable)
        #expect(try await scripted.firestore.rollback(id, in: keyed) == .completed([5]))
        #expect(scripted.script.isDone)
    }

    @Test func anInvalidArgumentOfTheServiceIsNotTheCallersMistake() async throws {
        let refusal = #"{"error":{"code":400,"message":"no","status":"INVALID_ARGUMENT"}}"#
        let scripted = ScriptedFirestore([Step(":batchGet", status: 400, refusal)])
        await #expect(throws: DocumentError(.failedPrecondition, "no")) {
            try await scripted.firestore.begin(in: keyed)
        }
    }

    @Test func anAnswerTooLargeForADocumentIsRefused() async throws {
        let scripted = ScriptedFirestore([Step(":batchGet", "[\(Self.begun("AQID")),\(try missing())]")])
        let id = try await begin(scripted, in: keyed)
        let answer = [UInt8](repeating: 0, count: 1_000_001)
        let error = await #expect(throws: DocumentError.self) {
            try await commit(scripted, id, completing: answer, in: keyed)
        }
        #expect(error?.code == .failedPrecondition)
    }
}
