import TestSupport
import Testing

/// Calls that were sent to a process whose threads are blocked.
@Suite(.endsHangs) struct RecallTests {
    @Test func callsBehindAHandlerThatBlocksAllThreadsSucceedElsewhere() async throws {
        try await RunningHost.serving(extra: #""functions": { "blocksThreads": { "timeout": 30 } }"#) { host in
            let first = try await host.call("blocksThreads", "false").json["result"]?.integer
            async let blocking = host.call("blocksThreads", "true")
            try await Bound.wait("the blocking handler has begun") {
                host.process.errors.contains("blocksThreads: it blocks")
            }
            let behind = try await withThrowingTaskGroup(of: HTTPAnswer.self) { group in
                for _ in 0..<20 { group.addTask { try await host.call("blocksThreads", "false") } }
                return try await group.reduce(into: []) { $0.append($1) }
            }
            for answer in behind {
                #expect(answer.status == 200, "\(answer.text)")
                #expect(answer.json["result"]?.integer != first)
            }
            #expect(try await blocking.status == 504)
            try await Bound.wait("the blocked process is killed") {
                first.map { !host.directory.workers.contains(Int32($0)) } ?? false
            }
            try await host.expectEcho()
        }
    }
}
