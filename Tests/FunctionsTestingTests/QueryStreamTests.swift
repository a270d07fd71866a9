import FunctionsRuntime
import FunctionsTesting
import Testing

/// Queries that are read page by page, against a store.
@Suite struct QueryStreamTests {
    private let tester: FunctionsTester
    private var firestore: Firestore { tester.firestore }
    private var items: CollectionReference { firestore.collection("items") }

    init() throws { tester = try FunctionsTester(CallableFixtures()) }

    private func store() async throws {
        let batch = firestore.batch()
        for number in 0..<23 {
            var fields: [String: Any?] = [
                "n": number % 3, "f": Double(number) / 2, "m": ["x": number % 2, "y": number],
            ]
            if number % 5 == 0 { fields["n"] = Double.nan }
            if number % 7 == 0 { fields["tags"] = ["a", "b"] }
            try batch.setData(fields, forDocument: items.document("i\(number)"))
            let parent = ["lists/a", "lists/b/parts/c", "other/d"][number % 3]
            try batch.setData(["n": number % 4], forDocument: firestore.document("\(parent)/items/g\(number)"))
        }
        try await batch.commit()
    }

    private func all(_ query: some Queryable, pageSize: Int) async throws -> [DocumentSnapshot] {
        var found: [DocumentSnapshot] = []
        for try await document in query.stream(pageSize: pageSize) { found.append(document) }
        return found
    }

    @Test(arguments: [1, 2, 5, 23, 500]) func pagesTogetherAreWhatTheQueryFinds(size: Int) async throws {
        try await store()
        let queries: [FunctionsRuntime.Query] = [
            items.query, items.order(by: "n"), items.order(by: "n", descending: true),
            items.order(by: "n").order(by: "f", descending: true), items.whereField("n", isEqualTo: 1),
            items.whereField("n", isGreaterThan: 0), items.whereField("m.y", isNotEqualTo: 4).order(by: "m.y"),
            items.whereField("tags", arrayContains: "a"), items.whereField("n", in: [0, 2]),
            items.order(by: FieldPath.documentID, descending: true), items.order(by: "f").limit(to: 7),
            items.order(by: "f").offset(4).limit(to: 9), items.offset(30), items.order(by: "n").select(["f"]),
            items.order(by: "m.x").select(["m.y"]), items.order(by: "m.x").select([]), items.select([]),
            items.order(by: "f").start(at: [3]).end(before: [8]),
            items.order(by: "n").start(after: [1]), items.order(by: FieldPath.documentID).start(at: ["i15"]),
            items.whereFilter(.orFilter([.whereField("n", isEqualTo: 1), .whereField("m.y", isGreaterThan: 15)])),
            firestore.collectionGroup("items"), firestore.collectionGroup("items").order(by: "n"),
            firestore.document("lists/a").collection("items").query,
        ]
        for (number, query) in queries.enumerated() {
            let expected = try await query.getDocuments().documents
            let found = try await all(query, pageSize: size)
            #expect(found == expected, "query \(number)")
        }
    }

    @Test func documentsMayBeDeletedOnTheWay() async throws {
        try await store()
        for try await item in items.stream(pageSize: 4) { try await item.reference.delete() }
        #expect(try await items.getDocuments().isEmpty)
    }

    private struct Item: Codable, Sendable { var f: Double }

    @Test func documentsAreDecoded() async throws {
        try await store()
        var sum = 0.0
        for try await item in items.stream(as: Item.self, pageSize: 10) { sum += item.data.f }
        #expect(sum == 126.5)
    }
}
