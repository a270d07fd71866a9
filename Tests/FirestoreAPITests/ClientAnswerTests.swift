import DocumentModel
@testable import FirestoreAPI
import HTTPTypes
import HostTesting
@testable import Sharing
import Synchronization
import Testing

/// Answers that are larger than they look.
struct ClientAnswerTests: RESTExchanges {
    @Test func aSmallAnswerCountsNothing() throws {
        let budget = MemoryBudget(total: 1_000_000)
        let answer = ClientAnswer(budget, for: .stranger(1))
        try answer.take(ClientAnswer.leastBytes)
        #expect(budget.figures.used == 0)
        try answer.take(1)
        #expect(budget.figures.used == ClientAnswer.leastBytes + 1)
    }

    @Test func anAnswerIsHeldUntilNothingNeedsIt() throws {
        let budget = MemoryBudget(total: 1_000_000)
        do {
            let answer = ClientAnswer(budget, for: .stranger(1))
            answer.identify(.user(2))
            try answer.take(200_000)
            try answer.take(100_000)
            #expect(budget.figures.used == 300_000)
            let error = #expect(throws: DocumentError.self) { try answer.take(100_000) }
            #expect(error?.code == .resourceExhausted)
            #expect(budget.figures.used == 300_000)
        }
        #expect(budget.figures.used == 0)
    }

    /// Its writes take several times the memory of their text.
    @Test func aLargeCommitCountsAsItIsDecoded() async throws {
        let writes = (0..<500).map {
            #"{"update":{"name":"\#(Self.name)/c/d\#($0)","fields":{"a":{"nullValue":null},"b":{"booleanValue":true}}}}"#
        }
        let body = #"{"writes":[\#(writes.joined(separator: ","))]}"#
        for verb in [":commit", ":batchWrite"] {
            let budget = MemoryBudget(total: 300_000)
            let answer = try await exchange(
                .post, Self.root + verb, body, headers: [.authorization: "Bearer ada-token"], of: ScriptedDocuments([]),
                answers: budget, maxBodyBytes: 1_000_000)
            #expect(answer.status == 429)
            #expect(answer.body.contains("large requests under way"))
            #expect(budget.figures.used == 0)
        }
    }

    /// Whoever asks for too much over and over shall not keep the host busy with it, nor its memory.
    @Test func aRefusalForTooMuchWaitsAndHoldsNothing() async throws {
        let pauses = Mutex<[Int]>([])
        let budget = MemoryBudget(total: 1_000_000)
        let text = String(repeating: "x", count: 100_000)
        let write = Write(path: try DocumentPath("c/d"), operation: .set(["a": .string(text)]))
        let body =
            #"{"writes":[{"update":{"name":"\#(Self.name)/c/d","fields":{"a":{"stringValue":"\#(text)"}}}}]}"#
        for code in [StatusCode.resourceExhausted, .permissionDenied] {
            let service = ScriptedDocuments([
                .init(.commit([write], transaction: nil), .failed(DocumentError(code, "no")))
            ])
            let answer = try await exchange(
                .post, Self.root + ":commit", body, of: service, answers: budget, maxBodyBytes: 1_000_000,
                pause: { pauses.withLock { $0.append(budget.figures.used) } })
            #expect(answer == .error(code, "no"))
        }
        #expect(pauses.withLock { $0 } == [0])
        #expect(budget.figures.peak > 100_000)
    }

    @Test func aLargeAnswerIsSentInParts() async throws {
        let values = Value.array(Array(repeating: .null, count: 5000))
        let documents = try (0..<10).map { try Self.document("c/d\($0)", ["a": values]) }
        for count in [1, 10] {
            let some = Array(documents.prefix(count))
            let service = ScriptedDocuments([
                .init(
                    .query(Query(collectionID: "c"), .strong), .results(some, readTime: Self.time))
            ])
            let answer = try await exchange(
                .post, Self.root + ":runQuery", #"{"structuredQuery":{"from":[{"collectionId":"c"}]}}"#, of: service)
            let nulls = Array(repeating: #"{"nullValue":null}"#, count: 5000).joined(separator: ",")
            let elements = (0..<count).map { number in
                let document = Self.json("c/d\(number)", #"{"a":{"arrayValue":{"values":[\#(nulls)]}}}"#)
                return "{\"document\":\(document),\"readTime\":\"\(Self.timeText)\"}"
            }
            #expect(answer.status == 200)
            #expect(answer.body == "[\(elements.joined(separator: ","))]")
        }
    }

    @Test func aNewTransactionComesBeforeTheParts() async throws {
        let documents = try (0..<3).map {
            try Self.document("c/d\($0)", ["a": .string(String(repeating: "x", count: 60_000))])
        }
        let service = ScriptedDocuments([
            .init(.begin(.readOnly(at: nil)), .began(TransactionID(rawValue: 7))),
            .init(
                .query(Query(collectionID: "c"), .transaction(TransactionID(rawValue: 7))),
                .results(documents, readTime: Self.time)),
        ])
        let answer = try await exchange(
            .post, Self.root + ":runQuery",
            #"{"structuredQuery":{"from":[{"collectionId":"c"}]},"newTransaction":{"readOnly":{}}}"#, of: service)
        #expect(answer.body.hasPrefix(#"[{"transaction":""#))
        #expect(answer.body.ranges(of: #"},{"document":"#).count == 3)
        #expect(answer.body.hasSuffix("}]"))
    }
}
