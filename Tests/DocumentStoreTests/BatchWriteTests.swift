import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import TestSupport
import Testing

struct BatchWriteTests {
    private func write(
        _ path: String, _ operation: Write.Operation, _ precondition: Write.Precondition? = nil,
        _ transforms: [FieldTransform] = []
    ) throws -> Write {
        Write(path: try DocumentPath(path), operation: operation, transforms: transforms, precondition: precondition)
    }

    @Test(arguments: EngineKind.allCases)
    func eachWriteStandsForItself(kind: EngineKind) async throws {
        try await withStore(kind) { test in
            try await test.set("a/there", ["n": .integer(1)])
            let was = try #require(await test.get("a/there"))
            let writes = [
                try write("a/new", .set(["n": .integer(1)])),
                try write("a/missing", .update([:], mask: []), .exists(true)),
                try write("a/gone", .delete),
                try write("a/there", .verify, .updateTime(Timestamp(seconds: 1, nanoseconds: 0))),
                try write("a/counted", .set([:]), nil, [FieldTransform(try FieldPath("n"), .increment(.integer(3)))]),
                try write("a/checked", .verify, .exists(false)),
            ]
            let results = try await test.store.batchWrite(writes)
            try #require(results.count == 6)
            let (first, fifth) = (try results[0].get(), try results[4].get())
            #expect(throws: DocumentError(.notFound, "there is no document \"a/missing\" to update")) {
                try results[1].get()
            }
            #expect(try results[2].get().updateTime == nil)
            #expect { try results[3].get() } throws: { ($0 as? DocumentError)?.code == .failedPrecondition }
            #expect(fifth.transformResults == [.integer(3)])
            #expect(try results[5].get() == WriteResult(updateTime: nil, transformResults: []))
            #expect(try #require(first.updateTime) < (try #require(fifth.updateTime)))
            #expect(try await test.get("a/new")?.updateTime == first.updateTime)
            #expect(try await test.get("a/counted")?.fields["n"] == .integer(3))
            #expect(try await test.get("a/there") == was)
        }
    }

    @Test func batchesThatFirestoreRefusesAreRefused() async throws {
        try await withStore { test in
            let twice = [try write("a/b", .set([:])), try write("a/b", .delete)]
            let error = await refusal { _ = try await test.store.batchWrite(twice) }
            #expect(error?.code == .invalidArgument)
            #expect(error?.message.contains("a/b") == true)
            let many = try (0...500).map { try write("a/\($0)", .set([:])) }
            let tooMany = await refusal { _ = try await test.store.batchWrite(many) }
            #expect(tooMany?.code == .invalidArgument)
            #expect(tooMany?.message.contains("500, the limit") == true)
            #expect(try await test.query(Query(collectionID: "a")).isEmpty)
            let results = try await test.store.batchWrite(Array(many.dropLast()))
            #expect(results.count == 500)
        }
    }

    /// Also of writes that change nothing, and though the clock stands still or goes back.
    @Test func commitTimesGrowStrictly() async throws {
        try await withStore { test in
            var last: Timestamp?
            for n in 0..<6 {
                if n == 3 { test.clock.advance(seconds: -10) }
                let time = try await test.set("a/b", ["n": .integer(Int64(n / 2))]).commitTime
                if let last { #expect(time > last) }
                last = time
            }
        }
    }
}
