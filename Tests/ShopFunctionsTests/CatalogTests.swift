import FunctionsRuntime
import FunctionsTesting
import Testing

@testable import ShopFunctions

@Suite struct CatalogTests {
    private let shop: FunctionsTester

    init() async throws {
        shop = try FunctionsTester(ShopFunctions())
        let users = shop.firestore.collection("users")
        for number in 0..<7 {
            try await shop.firestore.collection("products").document("p\(number)").setData(
                from: Product(
                    name: "P\(number)", desc: "", price: number, stock: number % 2, imageURL: "",
                    publishedTime: Timestamp(seconds: Int64(number), nanoseconds: 0),
                    owner: users.document(number < 3 ? "ada" : "bob")))
        }
    }

    private struct Page: Decodable {
        struct Entry: Decodable {
            var id: String
            var owner: String
        }
        var products: [Entry]
        var next: String?
    }

    private func page(_ query: String) async throws -> Page {
        try await shop.request("catalog", target: "/" + query).json()
    }

    @Test func newestComeFirst() async throws {
        let page = try await page("")
        #expect(page.products.map(\.id) == ["p6", "p5", "p4", "p3", "p2", "p1", "p0"])
        #expect(page.next == nil)
    }

    @Test func pagesFollowOneAnother() async throws {
        var seen: [String] = []
        var after = ""
        while true {
            let page = try await page("?limit=3" + after)
            seen += page.products.map(\.id)
            guard let next = page.next else { break }
            after = "&after=" + next
        }
        #expect(seen == ["p6", "p5", "p4", "p3", "p2", "p1", "p0"])
    }

    @Test func ownerAndStockFilter() async throws {
        #expect(try await page("?owner=ada").products.map(\.id) == ["p2", "p1", "p0"])
        #expect(try await page("?owner=ada&inStock=true").products.map(\.id) == ["p1"])
    }

    @Test(arguments: [
        "?limit=0", "?limit=101", "?limit=x", "?owner=", "?owner=a/b", "?inStock=maybe", "?after=a/b", "?after=%00",
        "?owner=a%00",
        "?after=__x__", "?after=..",
    ])
    func badParametersAreTold(query: String) async throws {
        let answer = try await shop.request("catalog", target: "/" + query)
        #expect(answer.status == 400)
        #expect(answer.error?.code == .invalidArgument)
    }

    @Test func brokenProductIsLeftOut() async throws {
        try await shop.firestore.collection("products").document("odd").setData(
            ["publishedTime": Timestamp(seconds: 100, nanoseconds: 0), "name": 3])
        #expect(try await page("").products.count == 7)
    }

    @Test func aProductThatIsGoneCantBeGoneOnAfter() async throws {
        let answer = try await shop.request("catalog", target: "/?after=gone")
        #expect(answer.status == 404)
        #expect(answer.error?.message == "There is no product gone to continue after.")
    }

    @Test func pagesOfEveryOriginMayReadIt() async throws {
        let answer = try await shop.request("catalog", headers: ["Origin": "https://shop.example"])
        #expect(answer.headers["Access-Control-Allow-Origin"] == "https://shop.example")
    }

    @Test func onlyReadingIsAllowed() async throws {
        #expect(try await shop.request("catalog", method: "POST").status == 405)
    }
}
