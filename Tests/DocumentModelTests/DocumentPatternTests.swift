@testable import DocumentModel
import TestSupport
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

    /// To Swift they are one text, and to the store two documents.
    @Test func lettersAreComparedByTheirBytes() throws {
        let patterns = ["caf\u{E9}/{x}", "cafe\u{301}/{x}", "{up=**}/caf\u{E9}/{x}"]
        let table = DocumentPatternTable(try patterns.enumerated().map { (try DocumentPattern($1), $0) })
        #expect(table.matches(try DocumentPath("caf\u{E9}/a")).map(\.element).sorted() == [0, 2])
        #expect(table.matches(try DocumentPath("cafe\u{301}/a")).map(\.element) == [1])
        #expect(table.elements(matching: try DocumentPath("a/b/caf\u{E9}/c")) == [2])
    }

    /// Against each pattern alone, by the definition.
    @Test func aTableFindsWhatEachPatternFits() throws {
        var random = SeededGenerator(seed: 4)
        let names = ["a", "b", "ab", "abc"]
        func texts(_ wildcards: [String], _ count: Int) -> String {
            (0..<count).map { _ in (names + wildcards).randomElement(using: &random) ?? "a" }.joined(separator: "/")
        }
        let patterns = (0..<400).compactMap { _ in
            try? DocumentPattern(texts(["*", "*", "**"], .random(in: 1...6, using: &random)))
        }
        #expect(patterns.count > 100)
        let table = DocumentPatternTable(patterns.enumerated().map { ($1, $0) })
        for _ in 0..<500 {
            let path = try DocumentPath(texts([], 2 * .random(in: 1...3, using: &random)))
            let expected = patterns.indices.filter { fits(patterns[$0].segments[...], path.segments[...]) }
            #expect(table.elements(matching: path).sorted() == expected, "\(path)")
        }
    }

    private func fits(_ pattern: ArraySlice<DocumentPattern.Segment>, _ path: ArraySlice<Substring>) -> Bool {
        switch pattern.first {
        case nil: path.isEmpty
        case .literal(let text): path.first == text[...] && fits(pattern.dropFirst(), path.dropFirst())
        case .one: !path.isEmpty && fits(pattern.dropFirst(), path.dropFirst())
        case .many:
            fits(pattern.dropFirst(), path) || !path.isEmpty && fits(pattern, path.dropFirst())
        }
    }

    @Test(arguments: ["", "users//x", "users/{}", "users/{a b}", "users/{a}/x/{a}", "**/{x=**}", "users", "users/x{a}"])
    func otherTextsAreTold(text: String) {
        #expect(throws: DocumentPattern.Problem.self) { try DocumentPattern(text) }
    }
}
