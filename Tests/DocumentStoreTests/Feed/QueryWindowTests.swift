import DocumentModel
@testable import DocumentStore
import Testing

/// A window that was never full, then overflows, doesn't know any more what is behind its last document.
struct QueryWindowTests {
    private func document(_ n: Int64) throws -> Document {
        let time = Timestamp(microseconds: n)
        return Document(
            path: try DocumentPath("c/d\(n)"), fields: ["n": .integer(n)], createTime: time, updateTime: time)
    }

    private func window(_ limit: Int) throws -> QueryWindow {
        var query = Query(collectionID: "c")
        query.limit = limit
        return QueryWindow(try NormalizedQuery(query))
    }

    @Test func aWindowThatHasOverflownIsFilledAgainWhenItLosesADocument() throws {
        var window = try window(2)
        window.fill([try document(1)])
        func come(_ n: Int64) throws -> DocumentChange {
            let document = try document(n)
            return DocumentChange(path: document.path, before: nil, after: document)
        }
        func go(_ n: Int64) throws -> DocumentChange {
            let document = try document(n)
            return DocumentChange(path: document.path, before: document, after: nil)
        }
        var outcome = window.apply([try come(2)])
        #expect(outcome == .changed)
        // One too many: the last one is dropped, and exists still.
        outcome = window.apply([try come(3)])
        #expect(outcome == .changed)
        #expect(window.visible.map(\.document.fields["n"]) == [.integer(1), .integer(2)])
        outcome = window.apply([try go(1)])
        #expect(outcome == .short)
    }

    @Test func aWindowThatHasAllIsNotFilledAgain() throws {
        var window = try window(3)
        window.fill([try document(1), try document(2)])
        let gone = try document(1)
        let outcome = window.apply([DocumentChange(path: gone.path, before: gone, after: nil)])
        #expect(outcome == .changed)
        #expect(window.visible.map(\.document.fields["n"]) == [.integer(2)])
    }

    /// As a damaged index may find it.
    @Test func aDocumentThatIsInAWindowTwiceLeavesItOnce() throws {
        let query = try NormalizedQuery(Query(collectionID: "c"))
        let place = query.place(of: try document(1))
        let changes = QueryWindow.difference(from: [place, place], to: [place], of: query) { _ in false }
        #expect(changes == [])
    }
}
