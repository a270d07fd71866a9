import Foundation
import Synchronization
import TestSupport
import Testing

/// All attackers at once, with honest users beside them: no honest call fails, what the host holds stays within its
/// bounds, and in the end it holds what it did before.
@Suite(.endsHangs) struct HostileDayTests {
    private static let documents = "/v1/\(Shopper.root)"

    private final class Day: Sendable {
        private let state = Mutex((honest: 0, hostile: 0, failures: [String]()))
        private let over = Atomic(false)

        var isOver: Bool { over.load(ordering: .relaxed) }
        func end() { over.store(true, ordering: .relaxed) }
        func attacked() { state.withLock { $0.hostile += 1 } }

        func expect(_ answer: HTTPAnswer, _ what: String) {
            state.withLock { state in
                state.honest += 1
                if answer.status != 200 {
                    state.failures.append("\(what): \(answer.status) \(answer.text.prefix(300))")
                }
            }
        }

        var hasEnough: Bool { state.withLock { $0.honest > 50 && $0.hostile > 50 } }
        var sums: (honest: Int, hostile: Int, failures: [String]) { state.withLock { $0 } }
    }

    @Test func honestUsersFeelNothing() async throws {
        let seconds = ProcessInfo.processInfo.environment["HOSTILE_SECONDS"].flatMap { Int($0) } ?? 10
        try await RunningHost.serving([.shop, .fixture]) { host in
            try await Shopper.stock(host, "apple", 1_000_000_000)
            try await Self.storeNulls(host)
            let large = #"{"a":{"stringValue":"\#(String(repeating: "x", count: 1_000_000))"}}"#
            #expect(try await Shopper.write(host, "large/1", large, Shopper.admin).status == 200)
            let attackers = try await Self.users(host, 12)
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
                for attack in Self.attacks(host, attackers) {
                    group.addTask {
                        // However it is answered, and whether it is.
                        while !day.isOver {
                            try? await attack()
                            day.attacked()
                        }
                    }
                }
                group.addTask { try await Self.holdConnections(host, attackers[0], day) }
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
                "hostile day: \(sums.honest) honest calls beside \(sums.hostile) attacks lost nothing; \(resident) MiB")
            #expect(sums.failures.isEmpty, "\(sums.failures.count) of \(sums.honest): \(sums.failures.prefix(3))")
            #expect(resident < 600)
            for gauge in ["body_bytes", "answer_bytes"] {
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

    /// Documents that become twenty times as large as JSON.
    private static func storeNulls(_ host: RunningHost) async throws {
        let nulls = Array(repeating: #"{"nullValue":null}"#, count: 20_000).joined(separator: ",")
        for number in 0..<3 {
            let answer = try await Shopper.write(
                host, "products/null\(number)", #"{"a":{"arrayValue":{"values":[\#(nulls)]}}}"#, Shopper.admin)
            #expect(answer.status == 200)
        }
    }

    private static let batchGet: String = {
        let names = (0..<30).map { #""\#(Shopper.root)/products/null\#($0 % 3)""# }
        return #"{"documents":[\#(names.joined(separator: ","))]}"#
    }()

    private static func attacks(_ host: RunningHost, _ users: [SignedInUser]) -> [@Sendable () async throws -> Void] {
        let parts = (0..<30).map { number in
            let filters = ["a", "b", "price"].map {
                #"{"fieldFilter":{"field":{"fieldPath":"\#($0)"},"op":"LESS_THAN","value":{"integerValue":"\#(number)"}}}"#
            }
            return #"{"compositeFilter":{"op":"AND","filters":[\#(filters.joined(separator: ","))]}}"#
        }
        let query =
            #"{"structuredQuery":{"from":[{"collectionId":"products"}],"where":{"compositeFilter":{"op":"OR","#
            + #""filters":[\#(parts.joined(separator: ","))]}}}}"#
        let deletes = (0..<20_000).map { #"{"delete":"\#(Shopper.root)/p/\#($0)"}"# }
        let commit = #"{"writes":[\#(deletes.joined(separator: ","))]}"#
        let next = Atomic(0)
        @Sendable func post(_ verb: String, _ body: String, _ user: SignedInUser?) async throws {
            _ = try await host.firestore.send("POST", "\(documents):\(verb)", headers: user?.headers ?? [:], body)
        }
        return [
            { try await post("runQuery", query, users[1]) }, { try await post("runQuery", query, users[2]) },
            { try await post("commit", commit, nil) }, { try await post("commit", commit, users[3]) },
            {
                let number = next.wrappingAdd(1, ordering: .relaxed).newValue
                try await post("beginTransaction", "{}", users[number % users.count])
            },
            { try await post("batchGet", batchGet, users[4]) },
            { _ = try await host.call("echo", "\"\(String(repeating: "x", count: 1_000_000))\"") },
            { _ = try await host.call("rogue", "\"writesGarbage\"") },
            { _ = try await host.call("rogue", "\"readsNothing\"") },
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
                day.attacked()
            } catch {
                // A connection that was closed meanwhile is what it deserves.
            }
            while held.count > 200 { try? await held.removeFirst().close() }
            try await Bound.pause(milliseconds: 20)
        }
        for connection in held { try? await connection.close() }
    }
}
