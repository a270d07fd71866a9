import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import TestSupport
import Testing

/// Searches for the nearest vectors, answered by the store and by sorting all distances.
struct VectorSearchTests {
    private static func vector(_ numbers: [Double]) -> Value {
        .map(["__type__": .string("__vector__"), "value": .array(numbers.map(Value.double))])
    }

    private static func distance(_ a: [Double], _ b: [Double], _ measure: VectorSearch.Measure) -> Double {
        let dot = zip(a, b).reduce(0) { $0 + $1.0 * $1.1 }
        switch measure {
        case .euclidean: return zip(a, b).reduce(0) { $0 + ($1.0 - $1.1) * ($1.0 - $1.1) }.squareRoot()
        case .dotProduct: return dot
        case .cosine:
            let squares = [a, b].map { $0.reduce(0) { $0 + $1 * $1 } }
            return 1 - dot / (squares[0] * squares[1]).squareRoot()
        }
    }

    @Test(arguments: VectorSearch.Measure.allCases, [1 as UInt64, 2])
    func theNearestAreFound(measure: VectorSearch.Measure, seed: UInt64) async throws {
        try await withStore { test in
            var random = SeededGenerator(seed: seed)
            func numbers(_ count: Int = 3) -> [Double] {
                (0..<count).map { _ in Double(Int.random(in: -4...4, using: &random)) + 0.5 }
            }
            var vectors: [(id: String, group: Int64, vector: [Double])] = []
            var writes: [Write] = []
            for i in 0..<300 {
                let (id, group) = ("d\(1000 + i)", Int64(i % 3))
                var fields: [String: Value] = ["group": .integer(group)]
                switch i % 10 {
                case 0: break
                case 1: fields["v"] = Self.vector(numbers(4))
                default:
                    let own = numbers()
                    fields["v"] = Self.vector(own)
                    vectors.append((id, group, own))
                }
                writes.append(Write(path: try DocumentPath("c/\(id)"), operation: .set(fields)))
            }
            try await test.commit(writes)
            for limit in [1, 7, 40, 1000] {
                let wanted = numbers()
                let group = Int64.random(in: 0...3, using: &random)
                let threshold = limit == 7 ? nil : 2.0
                let search = try VectorSearch(
                    field: try FieldPath("v"), vector: Self.vector(wanted), measure: measure, limit: limit,
                    resultField: "d", threshold: threshold)
                var query = Query(collectionID: "c")
                if group < 3 { query.filter = .field(try FieldPath("group"), .equal, .integer(group)) }
                let all = vectors.filter { group == 3 || $0.group == group }
                    .map { (id: $0.id, distance: Self.distance($0.vector, wanted, measure)) }
                    .filter { threshold == nil || (measure == .dotProduct ? $0.distance >= 2 : $0.distance <= 2) }
                let sorted = all.sorted { a, b in
                    if a.distance == b.distance { return a.id < b.id }
                    return measure == .dotProduct ? a.distance > b.distance : a.distance < b.distance
                }
                let found = try await test.nearest(search, of: query)
                #expect(found.documents.map(\.path.id) == sorted.prefix(limit).map(\.id), "seed \(seed)")
                #expect(found.documents.map { $0.fields["d"] } == sorted.prefix(limit).map { .double($0.distance) })
                #expect(found.explanation.cost?.documentsReturned == min(limit, sorted.count))
            }
        }
    }

    /// The root of a product that is too large or too small isn't exact.
    @Test(
        arguments: [
            ([1, 2], 0), ([0.1, 0.2, 0.7], 0), ([1e-120, 3e-120], 1e-15), ([1e120, 3e120], 1e-15),
        ] as [([Double], Double)])
    func theCosineDistanceOfAVectorFromItselfIsZero(numbers: [Double], error: Double) throws {
        let search = try VectorSearch(
            field: try FieldPath("v"), vector: numbers, measure: .cosine, limit: 1, resultField: nil, threshold: nil)
        let time = Timestamp(microseconds: 1)
        let document = Document(
            path: try DocumentPath("c/a"), fields: ["v": Self.vector(numbers)], createTime: time, updateTime: time)
        let distance = try #require(search.distance(of: document))
        #expect(abs(distance) <= error)
    }

    private static func searchOfOne() throws -> VectorSearch {
        try VectorSearch(
            field: try FieldPath("v"), vector: vector([1]), measure: .euclidean, limit: 1, resultField: nil,
            threshold: nil)
    }

    /// A document without the vector concerns the query, and not the search.
    @Test(arguments: [true, false]) func aSearchHidesNoQuery(isFirst: Bool) async throws {
        try await withStore { test in
            try await test.set("c/a", ["v": Self.vector([1])])
            let search = try Self.searchOfOne()
            let transaction = try await test.begin()
            let query = Query(collectionID: "c")
            if isFirst { _ = try await test.nearest(search, of: query, .transaction(transaction)) }
            _ = try await test.query(query, in: transaction)
            if !isFirst { _ = try await test.nearest(search, of: query, .transaction(transaction)) }
            try await test.set("c/b", [:])
            let error = await #expect(throws: DocumentError.self) {
                try await test.store.commit(
                    [Write(path: try DocumentPath("x/y"), operation: .set([:]))], transaction: transaction)
            }
            #expect(error?.code == .aborted)
        }
    }

    @Test func aSearchIsPartOfItsTransaction() async throws {
        try await withStore { test in
            try await test.set("c/a", ["v": Self.vector([1])])
            let search = try Self.searchOfOne()
            let transaction = try await test.begin()
            let found = try await test.nearest(search, of: Query(collectionID: "c"), .transaction(transaction))
            #expect(found.documents.map(\.path.id) == ["a"])
            try await test.set("c/b", ["v": Self.vector([1])])
            let error = await #expect(throws: DocumentError.self) {
                try await test.store.commit(
                    [Write(path: try DocumentPath("x/y"), operation: .set([:]))], transaction: transaction)
            }
            #expect(error?.code == .aborted)
        }
    }

    @Test func aResultThatIsTooLargeIsRefused() async throws {
        var configuration = TestStore.configuration
        configuration.maxReadBytes = 100_000
        try await withStore(configuration: configuration) { test in
            for i in 0..<20 {
                let text = Value.string(String(repeating: "x", count: 10_000))
                try await test.set("c/\(i)", ["v": Self.vector([Double(i)]), "text": text])
            }
            func search(_ limit: Int) throws -> VectorSearch {
                try VectorSearch(
                    field: try FieldPath("v"), vector: Self.vector([0]), measure: .euclidean, limit: limit,
                    resultField: nil, threshold: nil)
            }
            let few = try await test.nearest(try search(2), of: Query(collectionID: "c"))
            #expect(few.documents.map(\.path.id) == ["0", "1"])
            let error = await #expect(throws: DocumentError.self) {
                try await test.nearest(try search(15), of: Query(collectionID: "c"))
            }
            #expect(error?.code == .resourceExhausted)
            // Fields that aren't selected don't count.
            var selecting = Query(collectionID: "c")
            selecting.projection = [try FieldPath("d")]
            let measured = try VectorSearch(
                field: try FieldPath("v"), vector: Self.vector([0]), measure: .euclidean, limit: 15,
                resultField: "d", threshold: nil)
            let many = try await test.nearest(measured, of: selecting).documents
            let distances: [[String: Value]] = (0..<15).map { ["d": .double(Double($0))] }
            #expect(many.map(\.fields) == distances)
        }
    }
}

extension TestStore {
    fileprivate func nearest(
        _ search: VectorSearch, of query: Query, _ consistency: ReadConsistency = .strong
    ) async throws -> ExplainAnswer {
        try await withCheckedContinuation { continuation in
            store.nearest(search, of: query, isRun: true, consistency, in: OperationContext()) {
                continuation.resume(returning: $0)
            }
        }.get()
    }
}
