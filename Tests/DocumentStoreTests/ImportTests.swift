import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import StorageEngine
import TestSupport
import Testing

struct ImportTests {
    /// More elements than a document may have index entries.
    private static let long: [String: Value] = ["l": .array(Array(repeating: .null, count: 40_001))]

    @Test func whatTheStoreTookIsImported() async throws {
        try await withStore { test in
            let path = try DocumentPath("a/b")
            var refused = StoreImport(test.store)
            try await refused.add(path, Self.long)
            let error = await #expect(throws: DocumentError.self) { try await refused.finish() }
            #expect(error?.message.contains("40,000") == true)
            try await test.store.configureIndexes(
                IndexConfiguration(exemptions: [
                    FieldExemption(collectionID: "a", field: try FieldPath("l"), isOrdered: false, hasElements: false)
                ]))
            try await test.set("a/b", Self.long)
            var taken = StoreImport(test.store)
            try await taken.add(path, Self.long)
            try await taken.finish()
            #expect(taken.imported == 1)
        }
    }

    @Test func aClearDeletesWhatIsWrittenMeanwhile() async throws {
        try await withStore { test in
            try await test.set("b/b", ["n": .null])
            let deleted = try await test.store.clear { count in
                if count == 1 { try await test.set("a/a", ["n": .null]) }
            }
            #expect(deleted == 2)
            #expect(try await test.store.clear() == 0)
        }
    }

    /// Deleting the document that the key seems to name doesn't remove the row.
    @Test(.endsHangs) func aClearEndsAtAKeyThatIsNotTheOneOfItsDocument() async throws {
        try await withStore { test in
            try await test.set("a/b", ["n": .null])
            try test.store.engine.write { writer in
                let row = try writer.get(.documents, DocumentKeys.key(of: DocumentPath("a/b"))) ?? []
                try writer.put(.documents, Array("a".utf8) + [0] + Array("c".utf8), row)
            }
            await #expect(throws: DocumentError.self) { try await test.store.clear() }
        }
    }
}
