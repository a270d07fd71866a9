import DocumentModel
@testable import DocumentStore
import Synchronization
import StoreTestSupport
import TestSupport
import Testing

/// What reads count of their answers while they read.
@Suite struct AnswerBytesTests {
    /// Lets an answer have so many bytes.
    private final class Counter: AnswerBytes {
        private let limit: Int
        let taken = Mutex<[Int]>([])

        init(_ limit: Int = .max) { self.limit = limit }

        func take(_ bytes: Int) throws(DocumentError) {
            let sum = taken.withLock { taken in
                taken.append(bytes)
                return taken.reduce(0, +)
            }
            guard sum <= limit else { throw DocumentError(.resourceExhausted, "no more") }
        }
    }

    /// Ten documents whose nulls are stored as a byte each.
    private static func writes() throws -> [Write] {
        try (0..<10).map {
            Write(
                path: try DocumentPath("c/d\($0)"),
                operation: .set(["n": .integer(Int64(9 - $0)), "a": .array(Array(repeating: .null, count: 1000))]))
        }
    }

    private func get(_ test: TestStore, _ context: OperationContext) async throws -> [Document?] {
        try await test.store.get(try (0..<10).map { try DocumentPath("c/d\($0)") }, .strong, in: context).documents
    }

    private func query(_ test: TestStore, _ context: OperationContext, sorted: Bool) async throws -> [Document] {
        var query = Query(collectionID: "c")
        // Without an index in this order, the results are sorted first.
        if sorted { query.orderBy = [.init(FieldPath(segments: ["n"])), .init(FieldPath(segments: ["a"]))] }
        return try await test.store.query(query, .strong, in: context).documents
    }

    @Test func eachDocumentOfAnAnswerCountsOnceByItsWeight() async throws {
        try await withStore(.memory) { test in
            try await test.commit(try Self.writes())
            for read in [
                { try await get(test, $0).count }, { try await query(test, $0, sorted: false).count },
                { try await query(test, $0, sorted: true).count },
            ] as [(OperationContext) async throws -> Int] {
                let counter = Counter()
                #expect(try await read(OperationContext(answer: counter)) == 10)
                let taken = counter.taken.withLock { $0 }
                #expect(taken.count == 10)
                let nulls = 1000 * MemoryLayout<Value>.stride
                #expect(taken.allSatisfy { $0 > nulls && $0 < nulls + 1000 })
            }
        }
    }

    @Test func aReadEndsWhereItsCallerMayHaveNoMore() async throws {
        try await withStore(.memory) { test in
            try await test.commit(try Self.writes())
            for read in [
                { _ = try await get(test, $0) }, { _ = try await query(test, $0, sorted: false) },
                { _ = try await query(test, $0, sorted: true) },
            ] as [(OperationContext) async throws -> Void] {
                let counter = Counter(3500 * MemoryLayout<Value>.stride)
                let error = await refusal { try await read(OperationContext(answer: counter)) }
                #expect(error == DocumentError(.resourceExhausted, "no more"))
                #expect(counter.taken.withLock { $0.count } == 4)
            }
        }
    }

    @Test func anAnswerIsBoundedByWhatItBecomes() async throws {
        var configuration = TestStore.configuration
        configuration.maxReadBytes = 80_000
        try await withStore(.memory, configuration: configuration) { test in
            try await test.commit(try Self.writes())
            let error = await refusal { _ = try await get(test, OperationContext()) }
            #expect(error?.code == .resourceExhausted)
            #expect(error?.message.contains("MiB of JSON") == true)
        }
    }
}
