import TestSupport
import Testing

/// The shop's list of products over plain HTTP.
@Suite(.endsHangs) struct CatalogTests {
    private func page(_ host: RunningHost, _ query: String = "") async throws -> HTTPAnswer {
        try await host.functions.send("GET", "/demo-shop/asia-northeast1/catalog" + query)
    }

    private func ids(_ answer: HTTPAnswer) -> [String] {
        (answer.json["products"]?.list ?? []).compactMap { $0["id"]?.text }
    }

    private func fill(_ host: RunningHost, _ count: Int) async throws {
        for number in 1...count {
            try await Shopper.stock(
                host, "p\(number)", number % 2, owner: number % 3 == 0 ? "three" : "other",
                published: "2026-01-\(number < 10 ? "0" : "")\(number)T00:00:00Z")
        }
    }

    @Test func theNewestComeFirstAndPagesFollowEachOther() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await fill(host, 7)
            let all = try await page(host)
            #expect(all.status == 200)
            #expect(ids(all) == ["p7", "p6", "p5", "p4", "p3", "p2", "p1"])
            #expect(all.json["next"]?.text == nil)
            var seen: [String] = []
            var after: String?
            repeat {
                let answer = try await page(host, "?limit=3" + (after.map { "&after=\($0)" } ?? ""))
                #expect(ids(answer).count <= 3)
                seen += ids(answer)
                after = answer.json["next"]?.text
            } while after != nil && seen.count < 20
            #expect(seen == ["p7", "p6", "p5", "p4", "p3", "p2", "p1"])
        }
    }

    @Test func productsAreFilteredByOwnerAndStock() async throws {
        try await RunningHost.serving([.shop]) { host in
            try await fill(host, 7)
            #expect(ids(try await page(host, "?owner=three")) == ["p6", "p3"])
            #expect(ids(try await page(host, "?inStock=true")) == ["p7", "p5", "p3", "p1"])
            #expect(ids(try await page(host, "?owner=stranger")) == [])
        }
    }

    @Test(arguments: ["?limit=0", "?limit=101", "?limit=x", "?inStock=maybe", "?owner=a%2Fb", "?after=a%2Fb"])
    func aParameterThatCannotBeUsedIsRefused(query: String) async throws {
        try await RunningHost.serving([.shop]) { host in
            let answer = try await page(host, query)
            #expect(answer.status == 400)
            #expect(answer.json["error"]?["status"] == .string("INVALID_ARGUMENT"))
        }
    }

    @Test func onlyReadingIsAllowedAndAPageAfterNothingIsNotFound() async throws {
        try await RunningHost.serving([.shop]) { host in
            let post = try await host.functions.send("POST", "/demo-shop/asia-northeast1/catalog", "{}")
            #expect(post.status == 405)
            #expect(post["Allow"] == "GET, HEAD")
            #expect(try await page(host, "?after=gone").status == 404)
            #expect(try await page(host)["Access-Control-Allow-Origin"] == nil)
        }
    }
}
