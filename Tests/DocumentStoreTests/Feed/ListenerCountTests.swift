import DocumentModel
@testable import DocumentStore
import StoreTestSupport
import Synchronization
import TestSupport
import Testing

/// Listeners that continue, and are sent how many documents their result has.
@Suite(.endsHangs) struct ListenerCountTests {
    private func target(_ kind: String) throws -> ListenTarget {
        var query = Query(collectionID: "c")
        switch kind {
        case "documents": return .documents(Set(try (0..<6).map { try DocumentPath("c/\($0)") }))
        case "filter": query.filter = .field(try FieldPath("n"), .greaterThan, .integer(0))
        case "limit": query.limit = 3
        default: break
        }
        return .query(query)
    }

    @Test(arguments: ["documents", "all", "filter", "limit"])
    func theCountIsThatOfTheBatch(kind: String) async throws {
        try await withStore { test in
            for i in 0..<5 { try await test.set("c/\(i)", ["n": .integer(Int64(i))]) }
            let time = try await test.set("x/y", [:]).commitTime
            // What has changed since.
            try await test.commit([Write(path: try DocumentPath("c/4"), operation: .delete)])
            let listener = try test.store.listen(to: target(kind), from: time, isCounted: true, in: OperationContext())
            {
                _ in
            }
            let expected = ["documents": 4, "all": 4, "filter": 3, "limit": 3][kind]
            guard case .changes? = try await listener.next() else { throw DocumentError(.unknown, "no changes") }
            guard case .count(let count, _)? = try await listener.next() else {
                throw DocumentError(.unknown, "no count")
            }
            #expect(count == expected)
        }
    }

    @Test func aNewListenerIsNotCounted() async throws {
        try await withStore { test in
            try await test.set("c/1", ["n": .integer(1)])
            let listener = try test.store.listen(to: target("all"), from: nil, isCounted: true, in: OperationContext())
            {
                _ in
            }
            guard case .initial? = try await listener.next() else { throw DocumentError(.unknown, "no result") }
            try await test.set("c/2", [:])
            guard case .changes? = try await listener.next() else { throw DocumentError(.unknown, "no changes") }
        }
    }
}
