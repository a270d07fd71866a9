import StorageEngine
import DocumentModel
import DocumentStore
import Foundation

/// A store with one collection of the given number of documents, in its own file.
///
/// The documents are small. Those with an equal group, category or color are spread out, so that a query that finds
/// them reads as many pages as it finds documents.
final class LoadedStore: Sendable {
    /// How many documents each query finds.
    static let results = 100
    private static let colors = 10

    let size: Int
    let file: String
    let store: DocumentStore
    private let engine: any EmbeddedEngine
    private let collection: CollectionPath

    /// - Parameter size: a multiple of 1000.
    init(_ size: Int, in directory: URL) async throws {
        self.size = size
        collection = try CollectionPath("shops/main/products")
        file = directory.appendingPathComponent("documents-\(size).sqlite").path
        engine = try MeasuredEngine.open(file)
        store = try DocumentStore(engine: engine, now: Timestamp.wallClock)
        try store.start()
        try await store.configureIndexes(
            IndexConfiguration(indexes: [
                IndexDefinition(
                    collectionID: "products",
                    fields: [
                        .init(FieldPath("color"), .ascending), .init(FieldPath("number"), .ascending),
                    ]),
                IndexDefinition(
                    collectionID: "products", scope: .collectionGroup, fields: [.init(FieldPath("group"), .ascending)]),
            ]))
        try await store.indexesAreDone()
        try await fill()
    }

    func close() async throws {
        await store.shutdown()
        try engine.close()
    }

    func path(_ number: Int) throws -> DocumentPath {
        // As long as the ids that Firestore generates.
        let digits = String(number)
        return try collection.document("product-" + String(repeating: "0", count: 12 - digits.count) + digits)
    }

    private var groups: Int { size / Self.results }
    private var categories: Int { groups / Self.colors }

    /// Two of the fields differ between changes.
    func fields(_ number: Int, change: Int = 0) -> [String: Value] {
        [
            "number": .integer(Int64(number)), "name": .string("Cup \(number)"), "stock": .integer(1000),
            "group": .integer(Int64(number % groups)), "category": .integer(Int64(number % categories)),
            "color": .string("color-\(number / categories % Self.colors)"),
            "sold": .integer(Int64(change)),
            "changedTime": .timestamp(Timestamp(microseconds: 1_767_323_045_678_901 + Int64(change))),
        ]
    }

    /// Writes batches of 500, a few of which may share a sync.
    private func fill() async throws {
        let batch = 500
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, start) in stride(from: 0, to: size, by: batch).enumerated() {
                if index >= 8 { _ = try await group.next() }
                group.addTask { [self] in
                    _ = try await store.commit(
                        (start..<min(start + batch, size)).map {
                            Write(path: try path($0), operation: .set(fields($0)))
                        })
                }
            }
            try await group.waitForAll()
        }
    }
}

extension LoadedStore {
    /// A kind of query that finds 100 documents at any place.
    enum Kind: String, CaseIterable {
        case range = "range of an automatic index"
        case composite = "equality and order by a composite index"
        case intersection = "two equalities, intersected"
        case group = "equality in a collection group"
    }

    /// - Parameter place: any number; equal numbers make equal queries.
    func query(_ kind: Kind, at place: Int) throws -> Query {
        var query = Query(parent: collection.parent, collectionID: collection.id)
        query.limit = Self.results
        switch kind {
        case .range:
            query.filter = .field(try FieldPath("number"), .greaterThanOrEqual, number(place % groups * Self.results))
        case .composite:
            query.filter = .field(try FieldPath("color"), .equal, .string("color-\(place % Self.colors)"))
            query.orderBy = [Query.Order(try FieldPath("number"))]
            // Beyond this number, fewer than 100 documents have the color.
            let last = size - max(1000, size / 100)
            query.start = Query.Cursor(values: [number(place % (last + 1))], before: true)
        case .intersection:
            query.filter = .and([
                .field(try FieldPath("category"), .equal, number(place % categories)),
                .field(try FieldPath("color"), .equal, .string("color-\(place / categories % Self.colors)")),
            ])
        case .group:
            query = Query(collectionID: collection.id, allDescendants: true)
            query.limit = Self.results
            query.filter = .field(try FieldPath("group"), .equal, number(place % groups))
        }
        return query
    }

    /// The query for all documents of one of the groups, each of which has 100.
    func ofGroup(at place: Int) throws -> Query {
        var query = all
        query.filter = .field(try FieldPath("group"), .equal, number(place % groups))
        return query
    }

    var all: Query { Query(parent: collection.parent, collectionID: collection.id) }

    private func number(_ number: Int) -> Value { .integer(Int64(number)) }
}
