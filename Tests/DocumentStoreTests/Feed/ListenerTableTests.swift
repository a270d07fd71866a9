import DocumentModel
@testable import DocumentStore
import Testing

/// Which listeners a commit is matched with.
struct ListenerTableTests {
    private func entry(_ path: String, _ before: [String: Value]?, _ after: [String: Value]?) throws
        -> RecentChanges.Entry
    {
        let path = try DocumentPath(path)
        let time = Timestamp(microseconds: 1)
        func document(_ fields: [String: Value]) -> Document {
            Document(path: path, fields: fields, createTime: time, updateTime: time)
        }
        let change = DocumentChange(path: path, before: before.map(document), after: after.map(document))
        return RecentChanges.Entry(change, version: 1, storedBytes: 0, weight: 0)
    }

    private func target(_ filter: Query.Filter?, group: Bool = false) throws -> ListenerTarget {
        var query = Query(collectionID: "c", allDescendants: group)
        query.filter = filter
        return try ListenerTarget(.query(query))
    }

    @Test func changesConcernQueriesOnTheirValues() throws {
        let n = try FieldPath("n")
        var table = ListenerTable<String>()
        let targets: [(UInt64, ListenerTarget)] = [
            (1, try target(.field(n, .equal, .integer(1)))), (2, try target(.field(n, .equal, .double(2)))),
            (3, try target(.field(n, .greaterThan, .integer(0)))), (4, try target(nil, group: true)),
            (5, try target(.and([.field(n, .greaterThan, .integer(0)), .unary(try FieldPath("m"), .isNull)]))),
            (6, try ListenerTarget(.documents([try DocumentPath("c/a")]))),
            (7, try target(.unary(n, .isNaN))), (8, try target(.field(n, .equal, .integer(1)), group: true)),
            (9, try target(.field(n, .equal, .integer(1)), group: true)),
        ]
        for (id, target) in targets { table.insert("l\(id)", id, on: target) }
        let changes = [
            try entry("c/a", ["n": .integer(1)], ["n": .integer(2)]), try entry("c/b", nil, ["n": .double(.nan)]),
            try entry("x/y/c/d", ["n": .double(1)], nil), try entry("e/f", nil, ["n": .integer(1)]),
        ]
        let concerned = table.concerned(by: changes)
        #expect(concerned.documents.values.map(\.listener) == ["l6"] && concerned.documents[6]?.changes == [0])
        let queries = Dictionary(
            uniqueKeysWithValues: concerned.queries.values.map { (Set($0.followers.listeners.values), $0.changes) })
        #expect(
            queries == [
                ["l1"]: [0], ["l2"]: [0], ["l3"]: [0, 1], ["l4"]: [0, 1, 2], ["l7"]: [1], ["l8", "l9"]: [0, 2],
            ])
        for (id, target) in targets { table.remove(id, on: target) }
        let rest = table.concerned(by: changes)
        #expect(rest.queries.isEmpty && rest.documents.isEmpty)
    }
}
