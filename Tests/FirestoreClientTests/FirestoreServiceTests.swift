import OutboundHTTP
import DocumentModel
@testable import GoogleREST
@testable import FirestoreClient
import StrictJSON
import Testing

/// Which requests are sent again, whose tokens they carry, and which errors failures become.
struct FirestoreServiceTests {
    private typealias Step = ScriptedService.Step
    private static let empty = #"[{"readTime":"1970-01-01T00:00:01.000001Z"}]"#
    private static let busy = #"{"error":{"code":503,"message":"busy","status":"UNAVAILABLE"}}"#

    private func query(
        _ steps: [ScriptedService.Step], tokens: Bool = false
    ) async -> (Result<QueryAnswer, DocumentError>, [Double]) {
        let script = ScriptedService(steps)
        let tokens = tokens ? AccessTokens(host: "metadata.test", transport: script, now: { 0 }) : nil
        let scripted = ScriptedFirestore(script, tokens: tokens)
        let response = await outcome { () throws(DocumentError) in
            try await scripted.firestore.query(Query(collectionID: "c"))
        }
        #expect(script.isDone)
        return (response, scripted.pauses.all)
    }

    private func commit(_ steps: [ScriptedService.Step]) async throws -> Result<CommitAnswer, DocumentError> {
        let scripted = ScriptedFirestore(steps)
        let write = Write(path: try DocumentPath("c/a"), operation: .delete)
        let response = await outcome { () throws(DocumentError) in try await scripted.firestore.commit([write]) }
        #expect(scripted.script.isDone)
        return response
    }

    private func isEmpty(_ response: Result<QueryAnswer, DocumentError>) -> Bool {
        response == .success(QueryAnswer(documents: [], readTime: Timestamp(microseconds: 1_000_001)))
    }

    @Test func aReadIsAttemptedThreeTimesWithLongerPauses() async throws {
        let (response, pauses) = await query([
            .failure(":runQuery", .lost), Step(":runQuery", status: 503, Self.busy), Step(":runQuery", Self.empty),
        ])
        #expect(isEmpty(response))
        try #require(pauses.count == 2)
        #expect((0.05...0.1).contains(pauses[0]))
        #expect((0.1...0.2).contains(pauses[1]))
        let (refusal, _) = await query(Array(repeating: Step(":runQuery", status: 503, Self.busy), count: 3))
        #expect(refusal == .failure(DocumentError(.unavailable, "busy")))
    }

    /// As proxies answer, whose errors have no code.
    @Test(arguments: [#"{"error":"upstream"}"#, #"{"error":{"message":"upstream"}}"#])
    func anErrorWithoutACodeHasThatOfItsStatus(body: String) async throws {
        let (response, _) = await query([Step(":runQuery", status: 503, body), Step(":runQuery", Self.empty)])
        #expect(isEmpty(response))
        let (refusal, _) = await query([Step(":runQuery", status: 403, body)])
        #expect(refusal == .failure(DocumentError(.permissionDenied, "upstream")))
    }

    @Test func permanentErrorsAreNotRetried() async throws {
        for code in StatusCode.allCases where code != .ok && code != .unavailable {
            var text = JSONWriter()
            text.error(DocumentError(code, "no"))
            let answer = String(decoding: text.bytes, as: UTF8.self)
            let (response, pauses) = await query([Step(":runQuery", status: code.httpStatus, "[\(answer)]")])
            #expect(response == .failure(DocumentError(code, "no")))
            #expect(pauses.isEmpty)
        }
        let (plain, _) = await query([Step(":runQuery", status: 404, "<html>")])
        #expect(plain == .failure(DocumentError(.notFound, "the document service returned status 404")))
    }

    @Test func aResponseBeyondItsLimitsIsAnError() async throws {
        let (late, _) = await query([.failure(":runQuery", .timedOut)])
        #expect(
            late
                == .failure(
                    DocumentError(
                        .deadlineExceeded, "the document service didn't respond to the runQuery request within 60 s"))
        )
        let (large, _) = await query([.failure(":runQuery", .tooLarge)])
        #expect(
            large
                == .failure(
                    DocumentError(
                        .resourceExhausted,
                        "the response of the document service exceeds the limit of 16 MiB; request fewer documents, page by page"
                    )))
    }

    @Test func anErrorAtTheEndOfAStreamFailsTheRequest() async throws {
        let (response, _) = await query([
            Step(
                ":runQuery",
                #"[{"readTime":"1970-01-01T00:00:01Z"},{"error":{"code":409,"message":"lost","status":"ABORTED"}}]"#)
        ])
        #expect(response == .failure(DocumentError(.aborted, "lost")))
    }

    @Test(arguments: [
        ("<html>", "a value should be here"), ("{}", "an object is not an array"),
        (#"[{"document":{"name":"x"}}]"#, "document: a document needs name, createTime and updateTime"),
    ])
    func anInvalidResponseIsAnError(answer: String, message: String) async throws {
        let (response, _) = await query([Step(":runQuery", answer)])
        #expect(
            response
                == .failure(DocumentError(.internal, "the response of the document service is invalid: \(message)")))
    }

    @Test func aCommitWhoseResponseIsLostIsNotSentAgain() async throws {
        #expect(
            try await commit([.failure(":commit", .lost)])
                == .failure(
                    DocumentError(
                        .unavailable,
                        "the response to the commit request to the document service was lost: firestore.test: why; the request may have been processed"
                    ))
        )
        #expect(
            try await commit([Step(":commit", status: 503, Self.busy)]) == .failure(DocumentError(.unavailable, "busy"))
        )
        let sent = try await commit([
            .failure(":commit", .notSent),
            Step(":commit", #"{"writeResults":[{}],"commitTime":"1970-01-01T00:00:01Z"}"#),
        ])
        guard case .success(.committed) = sent else {
            Issue.record("\(sent)")
            return
        }
    }

    @Test func aCommitThatLosesToOthersIsSentAgain() async throws {
        let lost = Step(":commit", status: 409, #"{"error":{"code":409,"message":"lost","status":"ABORTED"}}"#)
        let sent = try await commit([
            lost, lost, Step(":commit", #"{"writeResults":[{}],"commitTime":"1970-01-01T00:00:01Z"}"#),
        ])
        guard case .success(.committed) = sent else {
            Issue.record("\(sent)")
            return
        }
        #expect(
            try await commit(Array(repeating: lost, count: 5)) == .failure(DocumentError(.aborted, "lost")))
    }

    @Test func aRefusedTokenIsReplacedOnce() async throws {
        let refusal = #"{"error":{"code":401,"message":"expired","status":"UNAUTHENTICATED"}}"#
        let (response, pauses) = await query(
            [
                .token("old", lifetime: 3600), Step(":runQuery", token: "old", status: 401, refusal),
                .token("new", lifetime: 3600), Step(":runQuery", token: "new", Self.empty),
            ], tokens: true)
        #expect(isEmpty(response))
        #expect(pauses.isEmpty)
        let (refused, _) = await query(
            [
                .token("old", lifetime: 3600), Step(":runQuery", token: "old", status: 401, refusal),
                .token("new", lifetime: 3600), Step(":runQuery", token: "new", status: 401, refusal),
            ], tokens: true)
        #expect(refused == .failure(DocumentError(.unauthenticated, "expired")))
    }

    @Test func withoutATokenNothingIsSent() async throws {
        let (response, pauses) = await query(
            Array(repeating: .token("", lifetime: 0, status: 500), count: 3), tokens: true)
        #expect(
            response
                == .failure(
                    DocumentError(
                        .unavailable,
                        "the runQuery request to the document service failed: metadata.test: the metadata server "
                            + "returned status 500")
                )
        )
        #expect(pauses.count == 2)
    }

    @Test func requestsToAnEmulatorAreTheOwners() async throws {
        _ = await query([Step(":runQuery", token: "owner", Self.empty)])
    }
}
