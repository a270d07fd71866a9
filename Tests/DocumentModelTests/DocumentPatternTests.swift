@testable import DocumentModel
import Testing

@Suite struct DocumentPatternTests {
    @Test(arguments: [
        ("users/{uid}", "users/ada", ["uid": "ada"]),
        ("users/{uid}/orders/{id=*}", "users/ada/orders/o1", ["uid": "ada", "id": "o1"]),
        ("users/ada", "users/ada", [:]),
        ("*/{id}", "users/ada", ["id": "ada"]),
        ("{all=**}", "users/ada/orders/o1", ["all": "users/ada/orders/o1"]),
        ("users/{rest=**}", "users/ada/orders/o1", ["rest": "ada/orders/o1"]),
        ("{up=**}/orders/{id}", "users/ada/orders/o1", ["up": "users/ada", "id": "o1"]),
        ("{up=**}/orders/{id}", "orders/o1", ["up": "", "id": "o1"]),
        ("users/{a=**}/items/{i}", "users/ada/carts/c/items/i1", ["a": "ada/carts/c", "i": "i1"]),
        ("**", "a/b", [:]),
    ])
    func fittingPathsAreCaptured(pattern: String, path: String, params: [String: String]) throws {
        let table = DocumentPatternTable([(try DocumentPattern(pattern), 1)])
        let matches = table.matches(try DocumentPath(path))
        #expect(matches.map(\.params) == [params])
    }

    @Test(arguments: [
        ("users/{uid}", "users/ada/orders/o1"), ("users/{uid}", "people/ada"), ("{up=**}/orders/{id}", "users/ada"),
        ("users/ada", "users/bob"), ("users/{a=**}/items/{i}", "users/items"),
    ])
    func otherPathsAreNot(pattern: String, path: String) throws {
        let table = DocumentPatternTable([(try DocumentPattern(pattern), 1)])
        #expect(table.matches(try DocumentPath(path)).isEmpty)
    }

    @Test func allFittingPatternsAreFound() throws {
        let patterns = ["users/{u}", "users/ada", "{x=**}", "*/ada", "users/bob", "orders/{o}", "users/{u}/orders/{o}"]
        let table = DocumentPatternTable(try patterns.map { (try DocumentPattern($0), $0) })
        let found = Set(table.matches(try DocumentPath("users/ada")).map(\.element))
        #expect(found == ["users/{u}", "users/ada", "{x=**}", "*/ada"])
    }

    @Test(arguments: ["", "users//x", "users/{}", "users/{a b}", "users/{a}/x/{a}", "**/{x=**}", "users", "users/x{a}"])
    func otherTextsAreTold(text: String) {
        #expect(throws: DocumentPattern.Problem.self) { try DocumentPattern(text) }
    }
}
