import Foundation
import Synchronization
import TestSupport
import Testing

/// Many calls at once.
@Suite(.endsHangs) struct BurstTests {
    @Test func aBurstFromZeroStartsNoProcessPerCall() async throws {
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        // Workers so slow to start that all calls wait by then.
        let script = try directory.script("[ $1 = worker ] && sleep 0.3; exec \(directory.program(.fixture)) \"$@\"")
        try directory.configure(bundles: #"{ "name": "fixture", "executable": "\#(script)" }"#)
        try await RunningHost.serving(in: directory, arguments: ["--verbose"]) { host in
            let answers = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<100 { group.addTask { try await host.call("oneAtATime", "1") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            let starts = host.process.errors.components(separatedBy: "oneAtATime: a worker was started").count - 1
            #expect((1...40).contains(starts), "\(starts) starts for 100 short calls")
        }
    }

    @Test func aCallersManyWaitingCallsHoldUpNobodyElse() async throws {
        let one = #""functions": { "oneAtATime": { "maxInstances": 1 } }, "limits": { "queue": 40 }"#
        try await RunningHost.serving(extra: one) { host in
            let (ada, bob) = (try await SignedInUser.create(host), try await SignedInUser.create(host))
            _ = try await host.call("oneAtATime", "1")
            let answered = Tally()
            let refused = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<60 {
                    group.addTask {
                        let answer = try await host.call("oneAtATime", "1000", headers: ada.headers)
                        if answer.status == 200 { answered.count.withLock { $0 += 1 } }
                        return answer
                    }
                }
                // The first of hers that is refused shows that she has all the places that she gets.
                var refused: [HTTPAnswer] = []
                while refused.isEmpty, let answer = try await group.next() {
                    if answer.status != 200 { refused.append(answer) }
                }
                #expect(try await host.call("oneAtATime", "1", headers: bob.headers).status == 200)
                let before = answered.count.withLock { $0 }
                for try await answer in group where answer.status != 200 { refused.append(answer) }
                // Some twenty of hers were waiting when he came, and most wait on when he has his answer.
                let after = answered.count.withLock { $0 }
                #expect(after >= 15 && before < after / 2, "\(before) of her \(after) calls were before his")
                return refused
            }
            #expect(refused.count >= 35)
            for answer in refused { #expect(answer.json["error"]?["status"]?.text == "RESOURCE_EXHAUSTED") }
        }
    }
}

private final class Tally: Sendable {
    let count = Mutex(0)
}
