import Foundation
import TestSupport
import Testing

/// Functions that the Realtime Database calls, and that change it, in a host with workers.
@Suite(.endsHangs) struct DatabaseFunctionsTests {
    private static let owner = ["Authorization": "Bearer owner"]

    private static func read(_ path: String, at host: RunningHost) async throws -> JSON {
        try await host.database.send("GET", "/\(path).json", headers: owner).json
    }

    private static func document(_ path: String, _ field: String, at host: RunningHost) async throws -> String? {
        let answer = try await host.firestore.send(
            "GET", "/v1/projects/demo-shop/databases/(default)/documents/\(path)", headers: owner)
        return answer.status == 200 ? answer.json["fields"]?[field]?["integerValue"]?.text : nil
    }

    /// Each message calls the function, whose effect in both worlds is there once, whatever is killed meanwhile.
    @Test func eachMessageIsCountedOnceInBothWorldsThroughKills() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let host = try await MortalHost([.fixture])
        do {
            let (rounds, each) = (3, 20)
            for round in 0..<rounds {
                for number in 0..<each {
                    // One that was sent before the host's death may be written, and is the same then.
                    let answer = try await host.persist {
                        try await $0.database.send(
                            "PUT", "/rooms/lobby/messages/m\(round)-\(number).json", headers: Self.owner, "\"hello\"")
                    }
                    #expect(answer.status == 200, "\(answer.text)")
                }
                if round < rounds - 1 { try await host.dieAndReturn() }
            }
            try await host.settle()
            #expect(try await Self.read("counts/lobby", at: host.current).integer == rounds * each)
            #expect(try await Self.document("rooms/lobby", "n", at: host.current) == "\(rounds * each)")
            try await host.end()
        } catch {
            print("the host's log:\n\(host.current.process.errors.suffix(4000))")
            try await host.end()
            throw error
        }
    }

    @Test func aTransactionChangesBothWorlds() async throws {
        try await RunningHost.serving { host in
            try await withThrowingTaskGroup(of: Int.self) { group in
                for _ in 0..<16 { group.addTask { try await host.call("likePost", #""p""#).status } }
                for try await status in group { #expect(status == 200) }
            }
            #expect(try await Self.read("likes/p", at: host).integer == 16)
            #expect(try await Self.document("liked/p", "likes", at: host) == "16")
        }
    }

    @Test func aFunctionObservesUntilItEnds() async throws {
        try await RunningHost.serving { host in
            async let answer = host.call("nextMessage", #""den""#)
            let put = try await host.database.send(
                "PUT", "/rooms/den/messages/m.json", headers: Self.owner, "\"hello\"")
            #expect(put.status == 200)
            #expect(try await answer.text == #"{"result":"hello"}"#)
        }
    }

    @Test func aWriteThatWouldCallTooManyFunctionsIsRefused() async throws {
        try await RunningHost.serving { host in
            let messages = (0...1_000).map { "\"m\($0)\":\"x\"" }.joined(separator: ",")
            func put(_ parameters: String = "") async throws -> HTTPAnswer {
                try await host.database.send(
                    "PUT", "/rooms/full/messages.json\(parameters)", headers: Self.owner, "{\(messages)}")
            }
            let refused = try await put()
            #expect(refused.status == 400)
            #expect(refused.text.contains("1000 functions"), "\(refused.text)")
            #expect(try await Self.read("rooms/full", at: host) == .null)
            // A server's import calls none.
            #expect(try await put("?disableTriggers=true").status == 200)
            #expect(try await Self.read("counts/full", at: host) == .null)
            let setting = "/.settings/strictTriggerValidation.json"
            #expect(try await host.database.send("GET", setting, headers: Self.owner).text == "true")
            #expect(try await host.database.send("PUT", setting, headers: Self.owner, "7").status == 400)
            #expect(try await host.database.send("PUT", setting, headers: Self.owner, "false").status == 200)
            let one = try await host.database.send("PUT", "/rooms/full.json", headers: Self.owner, "{}")
            #expect(one.status == 200)
            #expect(try await put().status == 200)
        }
    }
}
