import Foundation
import TestSupport
import Testing

/// Work under an idempotency key that isn't a transaction.
@Suite(.endsHangs) struct PaymentTests {
    private func data(_ key: String, milliseconds: Int = 0, exits: Bool = false) -> String {
        #"{"requestID":"\#(key)","milliseconds":\#(milliseconds),"exits":\#(exits)}"#
    }

    private func payments(_ host: RunningHost) async throws -> Int {
        let answer = try await host.firestore.send(
            "GET", "/v1/projects/demo-shop/databases/(default)/documents/payments?pageSize=100",
            headers: ["Authorization": "Bearer owner"])
        return answer.json["documents"]?.list.count ?? 0
    }

    @Test func callsOfOneKeyAtOnceAreOnePayment() async throws {
        try await RunningHost.serving { host in
            let texts = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<8 { group.addTask { try await host.call("pays", data("k", milliseconds: 300)) } }
                return try await group.reduce(into: Set<String>()) { $0.insert($1.text) }
            }
            #expect(texts.count == 1, "\(texts)")
            #expect(try await payments(host) == 1)
            let header = ["Idempotency-Key": "h"].merging(try await SignedInUser.create(host).headers) { $1 }
            let plain = try await host.call("limited", "1", headers: header)
            #expect(try await host.call("limited", "1", headers: header).text == plain.text)
            #expect(try await host.call("limited", "2", headers: header).status == 400)
            #expect(try await host.call("limited", "1", headers: ["Idempotency-Key": "h"]).status == 401)
        }
    }

    @Test func anEndedProcessLeavesTheOutcomeUnknown() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("pays", data("k", exits: true)).status == 500)
            let again = try await host.call("pays", data("k", exits: true))
            #expect(again.status == 500)
            #expect(again.json["error"]?["status"] == .string("UNKNOWN"), "\(again.text)")
            #expect(try await payments(host) == 1)
            #expect(try await host.call("pays", data("other")).status == 200)
        }
    }

    @Test func aKilledHostLeavesTheOutcomeUnknownAndKeepsAnswers() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        let first = try await RunningHost.start(in: directory)
        let answered = try await first.call("pays", data("answered"))
        #expect(answered.status == 200)
        let cutOff = Task { [self] in try await first.call("pays", data("cut off", milliseconds: 50_000)) }
        while try await payments(first) < 2 { try await Task.sleep(for: .milliseconds(20)) }
        try await first.kill()
        _ = try? await cutOff.value
        let second = try await RunningHost.start(in: directory)
        #expect(try await second.call("pays", data("answered")).text == answered.text)
        let again = try await second.call("pays", data("cut off", milliseconds: 50_000))
        #expect(again.json["error"]?["status"] == .string("UNKNOWN"), "\(again.text)")
        #expect(try await payments(second) == 2)
        try await second.kill()
    }
}
