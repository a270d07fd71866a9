import FunctionsRuntime
import FunctionsTesting
import Synchronization
import Testing

/// Vectors of documents, as authors store them and search for them.
@Suite struct VectorTests {
    private struct Item: Codable, Equatable, Sendable {
        var shop: String
        var embedding: VectorValue
        var distance: Double?
    }

    private let tester: FunctionsTester
    private var items: CollectionReference { tester.firestore.collection("items") }

    init() throws { tester = try FunctionsTester(CallableFixtures()) }

    private func store() async throws {
        let vectors: [(String, String, [Double])] = [
            ("near", "a", [1, 0]), ("far", "a", [4, 4]), ("other", "b", [0, 0]), ("flat", "a", [1]),
        ]
        for (id, shop, vector) in vectors {
            try await items.document(id).setData(from: Item(shop: shop, embedding: VectorValue(vector)))
        }
        try await items.document("without").setData(["shop": "a"])
    }

    @Test func theNearestComeFirstWithTheirDistance() async throws {
        try await store()
        let found = try await items.whereField("shop", isEqualTo: "a")
            .findNearest(
                vectorField: "embedding", queryVector: [1, 0], limit: 10, distanceMeasure: .euclidean,
                distanceResultField: "distance"
            ).getDocuments(as: Item.self)
        #expect(found.map(\.id) == ["near", "far"])
        #expect(found.map(\.data.distance) == [0, 5])
        #expect(found.first?.data.embedding == VectorValue([1, 0]))
        // What is stored has no distance.
        #expect(try await items.document("near").getDocument().distance == nil)
        let larger = try await items.findNearest(
            vectorField: "embedding", queryVector: [1, 1], limit: 1, distanceMeasure: .dotProduct
        ).getDocuments()
        #expect(larger.map(\.documentID) == ["far"])
    }

    @Test func onlyDocumentsWithinTheThresholdAreFound() async throws {
        try await store()
        let found = try await items.select(["distance"])
            .findNearest(
                vectorField: "embedding", queryVector: FieldValue.vector([0, 0]), limit: 10,
                distanceMeasure: .euclidean, distanceResultField: "distance", distanceThreshold: 1
            ).getDocuments()
        #expect(found.map(\.documentID) == ["other", "near"])
        #expect(found.map { $0.data() } == [["distance": .double(0)], ["distance": .double(1)]])
    }

    @Test func aTransactionRunsAgainWhenWhatItSearchedHasChanged() async throws {
        try await store()
        let items = items
        let attempts = Mutex(0)
        let nearest = try await tester.firestore.runTransaction { transaction in
            let found = try await transaction.getDocuments(
                items.findNearest(
                    vectorField: "embedding", queryVector: [9, 9], limit: 1, distanceMeasure: .euclidean),
                as: Item.self)
            let attempt = attempts.withLock { count -> Int in
                count += 1
                return count
            }
            if attempt == 1 {
                try await items.document("new").setData(from: Item(shop: "c", embedding: VectorValue([9, 8])))
            }
            try transaction.setData(["at": found.first?.id], forDocument: items.document("nearest"))
            return found.first?.id
        }
        #expect(nearest == "new")
        #expect(attempts.withLock { $0 } == 2)
        #expect(try await items.document("nearest").getDocument()["at"]?.stringValue == "new")
    }
}
