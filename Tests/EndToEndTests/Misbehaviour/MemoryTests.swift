import TestSupport
import Testing

/// Functions that use more memory than they may.
@Suite(.endsHangs) struct MemoryTests {
    static let tooMuch = "the worker was killed: the function used more memory than it may"

    @Test(arguments: [
        ("allocates", #"{"mebibytes":4096,"pause":0}"#), ("allocates", #"{"mebibytes":4096,"pause":2000}"#),
        ("allocatesInChild", "null"),
    ])
    func aFunctionThatGrowsPastItsMemoryIsKilled(name: String, data: String) async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call(name, data)
            #expect(answer.status == 500)
            #expect(answer.text == CrashTests.hidden)
            try await host.expectEcho()
            try await Bound.wait("the log tells why") { host.process.errors.contains(Self.tooMuch) }
            let line = try #require(
                host.process.errors.split(separator: "\n").first { $0.contains(Self.tooMuch) }.map(String.init))
            #expect(line.contains(" error \(name): ") && line.contains("MiB used of 128 MiB"), "\(line)")
            let metrics = try await host.events.send("GET", "/metrics").text
            #expect(
                metrics.contains("functions_worker_ends_total{function=\"\(name)\",end=\"memory\"} 1\n"), "\(metrics)")
            try await Bound.wait("only the worker of echo is left") { host.directory.workers.count == 1 }
        }
    }

    /// The sum over a limit is measured again before a worker is killed for it.
    @Test func whatStaysWithinItsMemoryLives() async throws {
        try await RunningHost.serving { host in
            let first = try await host.call("allocates", #"{"mebibytes":70,"pause":5000}"#)
            #expect(first.text == #"{"result":70}"#)
            #expect(!host.process.errors.contains(Self.tooMuch))
            // The same process, whose memory is added up.
            let second = try await host.call("allocates", #"{"mebibytes":70,"pause":50000}"#)
            #expect(second.status == 500)
        }
    }

    @Test func whatCannotBeHadAtOnceEndsTheFunctionAlone() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("allocatesAtOnce", "256").text == #"{"result":0}"#)
            let answer = try await host.call("allocatesAtOnce", "65536")
            #expect(answer.status == 500)
            #expect(answer.text == CrashTests.hidden)
            try await host.expectEcho()
            try await Bound.wait("the log tells the end") { host.process.errors.contains("worker.end=crash") }
            #expect(try await host.call("allocatesAtOnce", "1").text == #"{"result":0}"#)
        }
    }

    @Test func memoryInUseIsTold() async throws {
        try await RunningHost.serving { host in
            _ = try await host.call("allocates", #"{"mebibytes":60,"pause":0}"#)
            try await Bound.wait("the gauge shows it") {
                let metrics = try await host.events.send("GET", "/metrics").text
                let line = metrics.split(separator: "\n").first {
                    $0.hasPrefix("functions_memory_bytes{function=\"allocates\"} ")
                }
                return (line?.split(separator: " ").last.flatMap { Int($0) } ?? 0) > 60 << 20
            }
            let metrics = try await host.events.send("GET", "/metrics").text
            #expect(metrics.contains("functions_workers{function=\"allocates\"} 1\n"))
        }
    }
}
