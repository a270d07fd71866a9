import DocumentModel
import Synchronization
import TestSupport
import Testing

@testable import DocumentStore

/// Answers that are counted by what they take in memory.
struct AnswerRoomTests {
    private final class Room: AnswerBytes {
        let left: Mutex<Int>

        init(_ bytes: Int) { left = Mutex(bytes) }

        func take(_ bytes: Int) throws(DocumentError) {
            let isEnough = left.withLock { left in
                left -= bytes
                return left >= 0
            }
            guard isEnough else { throw DocumentError(.resourceExhausted, "there is no room") }
        }
    }

    private func context(_ bytes: Int, _ context: OperationContext = OperationContext()) -> OperationContext {
        var context = context
        context.answer = Room(bytes)
        return context
    }

    private func fill(_ test: TestStore) async throws -> [Document] {
        try await test.commit(
            try (1...3).map {
                Write(
                    path: try DocumentPath("c/d\($0)"),
                    operation: .set(["a": .array([.integer(1), .string("text"), .map(["b": .bytes([1, 2, 3])])])]))
            })
        return try await test.query(Query(collectionID: "c"))
    }

    @Test func aDocumentWeighsWhatItHolds() throws {
        let time = Timestamp(seconds: 1, nanoseconds: 0)
        func weight(_ fields: [String: Value]) throws -> Int {
            Document(path: try DocumentPath("c/d"), fields: fields, createTime: time, updateTime: time).weight
        }
        let element = MemoryLayout<Value>.stride
        let field = MemoryLayout<(String, Value)>.stride * 3 / 2
        #expect(try weight([:]) == 163)
        #expect(try weight(["ab": .null]) == 163 + 2 + field)
        #expect(
            try weight(["ab": .array([.string("xyz"), .bytes([1, 2, 3])])])
                == 163 + 2 + field + 32 + 2 * element + 3 + 4)
        #expect(try weight(["ab": .map(["c": .integer(1)])]) == 163 + 2 + field + 32 + 1 + field)
        // As JSON it has six bytes.
        #expect(try weight(["ab": .string("\u{1}")]) == 163 + 2 + field + 6)
    }

    @Test func readsEndWhereTheirAnswerHasNoRoom() async throws {
        try await withStore { test in
            let documents = try await fill(test)
            let weight = documents.reduce(0) { $0 + $1.weight }
            let paths = documents.map(\.path)
            let missing = try DocumentPath("c/none")
            let query = Query(collectionID: "c")
            #expect(try await test.store.get(paths, in: context(weight)).documents.count == 3)
            #expect(try await test.store.query(query, in: context(weight)).documents.count == 3)
            #expect(try await test.store.explain(query, analyze: true, in: context(weight)).documents.count == 3)
            let reads: [@Sendable () async throws -> Void] = [
                { _ = try await test.store.get(paths, in: context(weight - 1)) },
                { _ = try await test.store.get(paths + [missing], in: context(weight)) },
                { _ = try await test.store.query(query, in: context(weight - 1)) },
                { _ = try await test.store.explain(query, analyze: true, in: context(weight - 1)) },
            ]
            for read in reads {
                #expect(await refusal(read) == DocumentError(.resourceExhausted, "there is no room"))
            }
        }
    }

    /// What a retried transaction had read is sent with its begin if there is room; otherwise it reads again.
    @Test(arguments: [(10_000, 1), (10, 0)])
    func aRetryBeginsWithoutWhatHasNoRoom(bytes: Int, prefetched: Int) async throws {
        try await withStore { test in
            let documents = try await fill(test)
            let first = try await test.begin(context: OperationContext())
            _ = try await test.store.get([documents[0].path], .transaction(first))
            _ = try await fill(test).count
            try await test.commit([Write(path: documents[0].path, operation: .set(["n": .integer(1)]))])
            let write = Write(path: documents[0].path, operation: .set([:]))
            let lost = await refusal { _ = try await test.store.commit([write], transaction: first) }
            #expect(lost?.code == .aborted)
            let begun = try await test.store.begin(.readWrite(retrying: first), in: context(bytes))
            #expect(try begun.transaction.1.count == prefetched)
        }
    }

    @Test func anAnswerThatWasGivenBeforeNeedsRoomToo() async throws {
        try await withStore { test in
            let key = OperationContext(completion: CompletionKey(scope: "buy/ada", key: "k", fingerprint: [1]))
            let answer = [UInt8](repeating: 1, count: 1000)
            _ = try await test.store.commit([], completing: answer, in: key)
            #expect(try await test.store.begin(in: context(1000, key)) == .completed(answer))
            #expect(try await test.store.commit([], completing: [2], in: context(1000, key)) == .completed(answer))
            let operations: [@Sendable () async throws -> Void] = [
                { _ = try await test.store.begin(in: context(999, key)) },
                { _ = try await test.store.commit([], completing: [2], in: context(999, key)) },
            ]
            for operation in operations {
                #expect(await refusal(operation) == DocumentError(.resourceExhausted, "there is no room"))
            }
        }
    }
}
