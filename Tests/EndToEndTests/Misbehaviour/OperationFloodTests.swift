import TestSupport
import Testing

/// Workers that ask for more documents than the host can hold.
@Suite(.endsHangs) struct OperationFloodTests {
    private func setLarge(_ host: RunningHost) async throws {
        try await host.set("large/1", #""a":{"stringValue":"\#(String(repeating: "x", count: 1_000_000))"}"#)
    }

    private func held(_ host: RunningHost) async throws -> Int {
        let metrics = try await host.events.send("GET", "/metrics").text
        let line = metrics.split(separator: "\n").first { $0.hasPrefix("functions_operation_bytes ") }
        return try #require(line?.split(separator: " ").last.flatMap { Int($0) })
    }

    @Test func hundredsOfLargeReadsAtOnceAreAllAnswered() async throws {
        try await RunningHost.serving { host in
            try await setLarge(host)
            let before = host.process.memory
            #expect(try await host.call("readsAtOnce", "500").text == #"{"result":500}"#)
            #expect(host.process.memory - before < 200 << 20, "\((host.process.memory - before) >> 20) MiB more")
            try await Bound.wait("everything is given back") { try await held(host) == 0 }
        }
    }

    /// The worker has 128 MiB, and more than that to send.
    @Test func hundredsOfLargeWritesAtOnceAreAllDone() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("writesAtOnce", "400").text == #"{"result":400}"#)
            try await Bound.wait("everything is given back") { try await held(host) == 0 }
        }
    }

    @Test func aWorkerThatReadsNothingHoldsUpNoOther() async throws {
        try await RunningHost.serving { host in
            try await setLarge(host)
            #expect(try await host.call("readsAtOnce", "10").text == #"{"result":10}"#)
            let before = host.process.memory
            async let rogue = host.call("rogue", "\"readsNothing\"")
            try await Bound.wait("its answers wait") { try await held(host) > 16 << 20 }
            #expect(try await host.call("readsAtOnce", "100").text == #"{"result":100}"#)
            #expect(try await held(host) <= 32 << 20)
            #expect(host.process.memory - before < 200 << 20, "\((host.process.memory - before) >> 20) MiB more")
            // It is ended at its deadline.
            #expect(try await rogue.status == 504)
            try await Bound.wait("everything is given back") { try await held(host) == 0 }
            try await host.expectEcho()
        }
    }
}
