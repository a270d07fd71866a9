import TestSupport
import Testing

/// What functions print and log.
@Suite(.endsHangs) struct OutputTests {
    @Test func whatAHandlerPrintsIsLoggedWithItsExecution() async throws {
        try await RunningHost.serving { host in
            let id = try #require(try await host.call("says", #""a word to find""#).json["result"]?.text)
            try await Bound.wait("the line is logged") {
                host.process.errors.split(separator: "\n").contains {
                    $0.contains("a word to find") && $0.contains("execution.id=\(id)")
                }
            }
        }
    }

    @Test func whatAHandlerLogsCarriesItsExecutionAndMetadata() async throws {
        try await RunningHost.serving { host in
            _ = try await host.call("prints", "0")
            try await Bound.wait("the line is logged") {
                host.process.errors.split(separator: "\n").contains {
                    $0.contains("prints: printed") && $0.contains("execution.id=") && $0.contains("lines=0")
                }
            }
        }
    }

    @Test(arguments: ["prints", "logs"])
    func aFloodCostsItsOwnLinesAndNothingElse(name: String) async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call(name, "200000")
            #expect(answer.text == #"{"result":200000}"#)
            try await host.expectEcho()
            if name == "prints" {
                try await Bound.wait("the host tells what it dropped") {
                    _ = try await host.call("prints", "1")
                    return host.process.errors.contains("output was dropped")
                }
            }
        }
    }

    @Test func whoPrintsMoreThanIsReadWaitsAndNobodyElse() async throws {
        try await RunningHost.serving { host in
            let start = ContinuousClock.now
            let flood = Task { try await host.call("printsAtOnce", "\(4 << 20)") }
            try await Bound.wait("it waits") { host.process.errors.contains("prints faster than its output is read") }
            try await host.expectEcho()
            #expect(try await flood.value.text == #"{"result":4194304}"#)
            // A second has 1 MiB; what is on its way then, and the pipe, hold less than another one.
            #expect(ContinuousClock.now - start > .seconds(1))
            try await Bound.wait("its one line is logged, cut") {
                host.process.errors.contains("output.truncated=true")
            }
        }
    }

    @Test func aPrintedLineCannotBeTakenForOneOfTheHosts() async throws {
        try await RunningHost.serving { host in
            let id = try #require(
                try await host.call("says", #""one\r2026-11-21T00:00:00.000Z error host: forged""#).json["result"]?.text
            )
            try await Bound.wait("the line is logged") { host.process.errors.contains("execution.id=\(id)") }
            for line in host.process.errors.split(whereSeparator: \.isNewline) where line.contains("forged") {
                #expect(line.contains("says: "), "\(line)")
            }
        }
    }
}
