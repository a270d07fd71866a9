import Foundation
import Synchronization
import TestSupport
import Testing

/// All attackers at once, with honest users beside them: no honest call fails, what the host holds stays within its
/// bounds, and in the end it holds what it did before.
@Suite(.endsHangs) struct HostileDayTests {
    private static let documents = "/v1/\(Shopper.root)"

    private final class Day: Sendable {
        private let state = Mutex((honest: 0, hostile: 0, failures: [String](), refusals: [Int: Int]()))
        private let over = Atomic(false)

        var isOver: Bool { over.load(ordering: .relaxed) }
        func end() { over.store(true, ordering: .relaxed) }

        /// - Parameter answer: nil if the attacker's connection ended without one.
        func attacked(_ answer: HTTPAnswer?) {
            state.withLock { state in
                state.hostile += 1
                guard let answer, answer.status != 200 else { return }
                state.refusals[answer.status, default: 0] += 1
                // Who is refused learns why.
                if (answer.json["error"]?["message"]?.text ?? "").isEmpty {
                    state.failures.append("an attacker: \(answer.status) \(answer.text.prefix(300))")
                }
            }
        }

        func expect(_ answer: HTTPAnswer, _ what: String) {
            state.withLock { state in
                state.honest += 1
                if answer.status != 200 {
                    state.failures.append("\(what): \(answer.status) \(answer.text.prefix(300))")
                }
            }
        }

        var hasEnough: Bool { state.withLock { $0.honest > 20 && $0.hostile > 50 } }
        var sums: (honest: Int, hostile: Int, failures: [String], refusals: [Int: Int]) { state.withLock { $0 } }
    }

    @Test func honestUsersFeelNothing() async throws {
        let seconds = ProcessInfo.processInfo.environment["HOSTILE_SECONDS"].flatMap { Int($0) } ?? 10
        try await RunningHost.serving([.shop, .fixture]) { host in
            try await Shopper.stock(host, "apple", 1_000_000_000)
            try await Self.storeNulls(host)
            let large = #"{"a":{"stringValue":"\#(String(repeating: "x", count: 1_000_000))"}}"#
            #expect(try await Shopper.write(host, "large/1", large, Shopper.admin).status == 200)
            let isLong = seconds >= 60
            let attackers = try await Self.users(host, isLong ? 200 : 12)
            try await Self.storeProducts(host, isLong ? 20_000 : 500)
            let shoppers = try await [Shopper.signIn(host), Shopper.signIn(host)]
            try await host.expectEcho()
            try await shoppers[0].take("apple", 1)
            #expect(try await shoppers[0].purchase().status == 200)
            let before = try ProcessUse(of: host.process.id)

            let day = Day()
            let end = ContinuousClock.now + .seconds(seconds)
            var resident = 0
            try await withThrowingTaskGroup(of: Void.self) { group in
                for shopper in shoppers { group.addTask { try await Self.shop(shopper, day) } }
                group.addTask { try await Self.look(shoppers[0], day) }
                for attack in Self.attacks(host, attackers, deletes: isLong ? 125_000 : 20_000) {
                    group.addTask {
                        while !day.isOver {
                            day.attacked(try? await attack())
                            // The attackers of a short day leave the machine some time for other tests.
                            if !isLong { try await Bound.pause(milliseconds: 1000) }
                        }
                    }
                }
                group.addTask { try await Self.holdConnections(host, attackers[0], day) }
                group.addTask { try await Self.sendSlowly(host, day) }
                defer { day.end() }
                while ContinuousClock.now < end || !day.hasEnough {
                    resident = max(resident, try ProcessUse(of: host.process.id).residentMiB)
                    try await Bound.pause(milliseconds: 200)
                }
                day.end()
                try await group.waitForAll()
            }
            let sums = day.sums
            print(
                "hostile day: \(sums.honest) honest calls beside \(sums.hostile) attacks; refused: "
                    + "\(sums.refusals.sorted { $0.key < $1.key }); \(resident) MiB")
            #expect(sums.failures.isEmpty, "\(sums.failures.count) of \(sums.honest): \(sums.failures.prefix(3))")
            #expect(resident < 600)
            for gauge in ["host_body_bytes", "host_answer_bytes", "operation_bytes"] {
                #expect(try await MemoryShareTests.gauge("\(gauge)_peak", of: host) <= 128 << 20)
                try await Bound.wait("\(gauge) are free") { try await MemoryShareTests.gauge(gauge, of: host) == 0 }
            }
            try await Bound.wait("the host holds no more descriptors than before") {
                try ProcessUse(of: host.process.id).descriptors <= before.descriptors + 16
            }
        }
    }

    // MARK: Honest users

    private static func shop(_ shopper: Shopper, _ day: Day) async throws {
        while !day.isOver {
            try await shopper.take("apple", 1)
            day.expect(try await shopper.purchase(), "a purchase")
        }
    }

    private static func look(_ shopper: Shopper, _ day: Day) async throws {
        while !day.isOver {
            day.expect(try await Shopper.read(shopper.host, "products/apple", shopper.user.headers), "a get")
            let echo = try await shopper.host.call("echo", "1", region: "asia-northeast1")
            day.expect(echo, "a call without a token")
            let query = #"{"structuredQuery":{"from":[{"collectionId":"orders"}],"limit":2}}"#
            day.expect(
                try await shopper.host.firestore.send(
                    "POST", "\(documents)/users/\(shopper.user.uid):runQuery", headers: shopper.user.headers, query),
                "a query")
        }
    }

    // MARK: Attackers

    private static func users(_ host: RunningHost, _ count: Int) async throws -> [SignedInUser] {
        var users: [SignedInUser] = []
        for _ in 0..<count { users.append(try await SignedInUser.create(host)) }
        return users
    }

    private static let nullDocuments = 30

    /// Documents that become twenty times as large as JSON.
    private static func storeNulls(_ host: RunningHost) async throws {
        let nulls = Array(repeating: #"{"nullValue":null}"#, count: 20_000).joined(separator: ",")
        // Within an element, they have no index entries.
        let list = #"{"mapValue":{"fields":{"n":{"arrayValue":{"values":[\#(nulls)]}}}}}"#
        for number in 0..<nullDocuments {
            let answer = try await Shopper.write(
                host, "products/null\(number)", #"{"a":{"arrayValue":{"values":[\#(list)]}}}"#, Shopper.admin)
            #expect(answer.status == 200)
        }
    }

    /// Products that costly queries read.
    private static func storeProducts(_ host: RunningHost, _ count: Int) async throws {
        for start in stride(from: 0, to: count, by: 500) {
            let writes = (start..<min(start + 500, count)).map { number in
                #"{"update":{"name":"\#(Shopper.root)/products/many\#(number)","fields":{"a":{"integerValue":"\#(number % 97)"},"#
                    + #""b":{"integerValue":"\#(number % 89)"},"price":{"integerValue":"\#(number % 83)"}}}}"#
            }
            let answer = try await host.firestore.send(
                "POST", "\(documents):commit", headers: Shopper.admin,
                #"{"writes":[\#(writes.joined(separator: ","))]}"#)
            #expect(answer.status == 200)
        }
    }

    private static let batchGet: String = {
        let names = (0..<nullDocuments).map { #""\#(Shopper.root)/products/null\#($0)""# }
        return #"{"documents":[\#(names.joined(separator: ","))]}"#
    }()

    private static func attacks(
        _ host: RunningHost, _ users: [SignedInUser], deletes: Int
    ) -> [@Sendable () async throws -> HTTPAnswer] {
        let parts = (0..<30).map { number in
            let filters = ["a", "b", "price"].map {
                #"{"fieldFilter":{"field":{"fieldPath":"\#($0)"},"op":"LESS_THAN","value":{"integerValue":"\#(number)"}}}"#
            }
            return #"{"compositeFilter":{"op":"AND","filters":[\#(filters.joined(separator: ","))]}}"#
        }
        let query =
            #"{"from":[{"collectionId":"products"}],"where":{"compositeFilter":{"op":"OR","#
            + #""filters":[\#(parts.joined(separator: ","))]}},"#
            + #""orderBy":[{"field":{"fieldPath":"price"}},{"field":{"fieldPath":"b"}}],"limit":1}"#
        let structured = #"{"structuredQuery":\#(query)}"#
        let counted =
            #"{"structuredAggregationQuery":{"structuredQuery":\#(query),"aggregations":[{"alias":"n","count":{}}]}}"#
        let deletes = (0..<deletes).map { #"{"delete":"\#(Shopper.root)/p/\#($0)"}"# }
        let commit = #"{"writes":[\#(deletes.joined(separator: ","))]}"#
        let mask = (0..<40_000).map { #""m.f\#($0)""# }.joined(separator: ",")
        let masked =
            #"{"documents":["\#(Shopper.root)/products/null0"],"mask":{"fieldPaths":["m",\#(mask)]}}"#
        let elements = (0..<500).map { #"{"integerValue":"\#($0)"}"# }.joined(separator: ",")
        func union(of user: SignedInUser) -> String {
            let name = "\(Shopper.root)/users/\(user.uid)"
            let transform =
                #"{"fieldPath":"a","appendMissingElements":{"values":[\#(elements)]}}"#
            let transforms = Array(repeating: transform, count: 40).joined(separator: ",")
            return #"{"writes":[{"update":{"name":"\#(name)","fields":{}},"updateMask":{},"#
                + #""updateTransforms":[\#(transforms)]}]}"#
        }
        let unions = union(of: users[7])
        let next = Atomic(0)
        @Sendable func post(_ verb: String, _ body: String, _ user: SignedInUser?) async throws -> HTTPAnswer {
            try await host.firestore.send("POST", "\(documents):\(verb)", headers: user?.headers ?? [:], body)
        }
        return [
            { try await post("runQuery", structured, users[1]) }, { try await post("runQuery", structured, users[2]) },
            { try await post("runAggregationQuery", counted, users[5]) },
            { try await post("commit", commit, nil) }, { try await post("commit", commit, users[3]) },
            { try await post("commit", unions, users[7]) },
            {
                let number = next.wrappingAdd(1, ordering: .relaxed).newValue
                return try await post("beginTransaction", "{}", users[number % users.count])
            },
            { try await post("batchGet", batchGet, users[4]) }, { try await post("batchGet", masked, users[6]) },
            { try await host.call("echo", "\"\(String(repeating: "x", count: 1_000_000))\"") },
            { try await host.call("rogue", "\"writesGarbage\"") }, { try await host.call("rogue", "\"readsNothing\"") },
            { try await host.call("trap", "7") },
            { try await host.firestore.send("GET", "\(documents)/products/apple", headers: ["Host": "evil.test"]) },
            {
                try await host.auth.send(
                    "DELETE", "/emulator/v1/projects/demo-shop/accounts", headers: ["Origin": "https://evil.test"])
            },
            { try await host.events.send("GET", "/metrics") },
        ]
    }

    /// Connections that don't read their answers, and others that don't end their requests.
    private static func holdConnections(_ host: RunningHost, _ user: SignedInUser, _ day: Day) async throws {
        var held: [RawConnection] = []
        let part = String(repeating: "x", count: 1_000_000)
        while !day.isOver {
            do {
                let unread = try await RawConnection.open(port: host.firestore.port, reads: false)
                held.append(unread)
                try await unread.send(
                    "POST \(documents):batchGet HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer \(user.token)\r\n"
                        + "Content-Length: \(batchGet.utf8.count)\r\n\r\n\(batchGet)")
                for port in [host.firestore.port, host.functions.port, host.auth.port, host.events.port] {
                    let unfinished = try await RawConnection.open(port: port)
                    held.append(unfinished)
                    try await unfinished.send(
                        "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n\(part)")
                }
                let stream = try await RawConnection.open(port: host.functions.port, reads: false)
                held.append(stream)
                try await stream.send(
                    "POST /demo-shop/us-central1/flood HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                        + "Accept: text/event-stream\r\nContent-Length: 13\r\n\r\n{\"data\":1000}")
                let pipelined = try await RawConnection.open(port: host.firestore.port, reads: false)
                held.append(pipelined)
                try await pipelined.send(
                    String(
                        repeating:
                            "GET \(documents)/large/1 HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer owner\r\n\r\n",
                        count: 10) + "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n\r\n")
                day.attacked(nil)
            } catch {
                // A connection that was closed meanwhile is what it deserves.
            }
            while held.count > 200 { try? await held.removeFirst().close() }
            try await Bound.pause(milliseconds: 100)
        }
        for connection in held { try? await connection.close() }
    }

    /// Requests that never end, a byte now and then.
    private static func sendSlowly(_ host: RunningHost, _ day: Day) async throws {
        var connections: [RawConnection] = []
        for port in [host.firestore.port, host.functions.port, host.auth.port, host.events.port] {
            for start in [
                "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000\r\n\r\n", "GET / HTTP/1.1\r\nX-Slow: ",
            ] {
                guard let connection = try? await RawConnection.open(port: port) else { continue }
                connections.append(connection)
                try? await connection.send(start)
            }
        }
        while !day.isOver {
            for connection in connections { try? await connection.send("x") }
            day.attacked(nil)
            try await Bound.pause(milliseconds: 500)
        }
        for connection in connections { try? await connection.close() }
    }
}
