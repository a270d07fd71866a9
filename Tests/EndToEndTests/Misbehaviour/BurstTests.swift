import Testing

/// Many calls at once.
@Suite(.timeLimit(.minutes(10))) struct BurstTests {
    @Test func aBurstFromZeroStartsNoProcessPerCall() async throws {
        try await RunningHost.serving { host in
            let answers = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<100 { group.addTask { try await host.call("oneAtATime", "1") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            #expect(answers.allSatisfy { $0.status == 200 })
            // Idle ones stay, so these are all that were started.
            let processes = host.directory.workers.count
            #expect((1...40).contains(processes), "\(processes) processes for 100 short calls")
        }
    }

    @Test func aCallersManyWaitingCallsHoldUpNobodyElse() async throws {
        let one = #""functions": { "oneAtATime": { "maxInstances": 1 } }, "limits": { "queue": 40 }"#
        try await RunningHost.serving(extra: one) { host in
            let (ada, bob) = (try await SignedInUser.create(host), try await SignedInUser.create(host))
            _ = try await host.call("oneAtATime", "1")
            let refused = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<60 {
                    group.addTask { try await host.call("oneAtATime", "200", headers: ada.headers) }
                }
                // The first of hers that is refused shows that she has all the places that she gets.
                var refused: [HTTPAnswer] = []
                while refused.isEmpty, let answer = try await group.next() {
                    if answer.status != 200 { refused.append(answer) }
                }
                let start = ContinuousClock.now
                #expect(try await host.call("oneAtATime", "1", headers: bob.headers).status == 200)
                // Some twenty of hers wait, of 200 ms each.
                #expect(ContinuousClock.now - start < .milliseconds(2000))
                for try await answer in group where answer.status != 200 { refused.append(answer) }
                return refused
            }
            #expect(refused.count >= 35)
            for answer in refused { #expect(answer.json["error"]?["status"]?.text == "RESOURCE_EXHAUSTED") }
        }
    }
}
