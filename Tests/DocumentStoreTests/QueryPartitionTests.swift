import StoreTestSupport
import DocumentModel
@testable import DocumentStore
import Testing

struct QueryPartitionTests {
    private func filled(_ count: Int) async throws -> (TestStore, [String]) {
        let test = try TestStore()
        var paths: [String] = []
        for n in 0..<count { paths.append(n % 3 == 0 ? "sub/r\(n)" : "c/p\(n % 10)/sub/d\(n)") }
        for start in stride(from: 0, to: count, by: 500) {
            try await test.commit(
                try paths[start..<min(start + 500, count)].map {
                    Write(path: try DocumentPath($0), operation: .set([:]))
                })
        }
        try await test.set("other/x", [:])
        return (test, paths.sorted())
    }

    private let group = Query(collectionID: "sub", allDescendants: true)

    @Test(arguments: [(4000, 7), (4000, 1), (100, 9)])
    func partsAreAboutEqual(count: Int, points: Int) async throws {
        let (test, paths) = try await filled(count)
        try await withStore(test) { _ in
            let places = try await test.partition(group, points: points)
            #expect(places.count == points)
            let indexes = try places.map { place in try #require(paths.firstIndex(of: place.string)) }
            for (start, end) in zip([0] + indexes, indexes + [count]) {
                #expect(abs(end - start - count / (points + 1)) <= count / (points + 1) / 8 + 1)
            }
        }
    }

    @Test func fewDocumentsMakeFewParts() async throws {
        let (test, paths) = try await filled(5)
        try await withStore(test) { _ in
            #expect(try await test.partition(group, points: 50).map(\.string) == Array(paths[1...]))
            #expect(try await test.partition(Query(collectionID: "none", allDescendants: true), points: 3).isEmpty)
            var below = group
            below.parent = try DocumentPath("c/p1")
            #expect(try await test.partition(below, points: 3).isEmpty)
        }
    }

    @Test func anEarlierStateIsSplitAsItWas() async throws {
        let (test, paths) = try await filled(20)
        try await withStore(test) { _ in
            let time = try await test.set("other/x", ["a": .integer(1)]).commitTime
            try await test.commit(try paths[..<10].map { Write(path: try DocumentPath($0), operation: .delete) })
            let now = try await test.partition(group, points: 1)
            #expect(now.map(\.string) == [paths[15]])
            #expect(try await test.partition(group, points: 1, .at(time)).map(\.string) == [paths[10]])
        }
    }

    @Test func whatCannotBeSplitIsRefused() async throws {
        try await withStore { test in
            func reason(_ points: Int = 2, _ change: (inout Query) -> Void) async -> String? {
                var query = group
                change(&query)
                let asked = query
                return await refusal { _ = try await test.partition(asked, points: points) }?.message
            }
            #expect(await reason { $0.allDescendants = false }?.contains("collection group") == true)
            #expect(await reason { $0.limit = 3 }?.contains("limit") == true)
            #expect(
                await reason { $0.filter = .unary(FieldPath(segments: ["a"]), .isNull) }?.contains("filter") == true)
            #expect(
                await reason { $0.orderBy = [Query.Order(.documentID, descending: true)] }?.contains("ascending")
                    == true)
            #expect(
                await reason { $0.orderBy = [Query.Order(FieldPath(segments: ["a"]))] }?.contains("__name__") == true)
            #expect(await reason(0) { _ in }?.contains("points") == true)
        }
    }
}
