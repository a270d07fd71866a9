import TestSupport
import Testing

/// Functions whose process ends under them.
@Suite(.endsHangs) struct CrashTests {
    static let hidden = #"{"error":{"message":"INTERNAL","status":"INTERNAL"}}"#

    @Test func aTrapFailsItsOwnCallAlone() async throws {
        try await RunningHost.serving { host in
            async let slow = host.call("slow", "1000")
            let trap = try await host.call("trap", "7")
            #expect(trap.status == 500)
            #expect(trap.text == Self.hidden)
            #expect(try await slow.text == #"{"result":1000}"#)
            let next = try await host.call("trap", "1")
            #expect(next.text == #"{"result":2}"#)
            // One record says where, with the execution; registers and memory could hold secrets.
            try await Bound.wait("the crash is logged") { host.process.errors.contains("the function crashed") }
            let log = host.process.errors
            let record = log.split(separator: "\n").first { $0.contains("the function crashed") } ?? ""
            #expect(record.contains("backtrace=") && record.contains("execution.id="), "\(record)")
            #expect(record.contains("Fatal error") && record.contains(".swift:"), "\(record)")
            for part in ["rax", "Registers", "Images", "Backtrace took"] { #expect(!log.contains(part)) }
        }
    }

    @Test func aCrashFailsTheCallsOfItsProcessAndTheNextGetsANewOne() async throws {
        try await RunningHost.serving { host in
            let neighbour = try await host.functions.open(
                "POST", "/demo-shop/us-central1/trapsUnderOthers", headers: StreamingTests.stream,
                bytes: Array(#"{"data":false}"#.utf8))
            let crash = try await host.call("trapsUnderOthers", "true")
            #expect(crash.text == Self.hidden)
            let lost = try await neighbour.whole()
            #expect(lost.events == [try JSON(parsing: Self.hidden)])
            try await host.expectEcho()
        }
    }

    @Test(arguments: [0, 1, 77])
    func anExitIsACrashWhateverItsStatus(status: Int) async throws {
        try await RunningHost.serving { host in
            let answer = try await host.call("exits", "\(status)")
            #expect(answer.status == 500)
            #expect(answer.text == Self.hidden)
            try await host.expectEcho()
            try await Bound.wait("the log tells the end") {
                host.process.errors.contains("crash, exit status \(status)")
            }
        }
    }

    @Test func aFunctionThatKeepsCrashingIsStartedLessOften() async throws {
        try await RunningHost.serving { host in
            let start = ContinuousClock.now
            for _ in 0..<5 { #expect(try await host.call("trap", "7").status == 500) }
            // The pauses before the second to fifth start: none, 100, 200 and 400 ms.
            #expect(ContinuousClock.now - start >= .milliseconds(700))
            try await host.expectEcho()
            #expect(try await host.call("trap", "0").text == #"{"result":1}"#)
        }
    }

    @Test func callsOfOneFunctionShareAProcessUnderItsConcurrency() async throws {
        try await RunningHost.serving { host in
            let first = try await host.call("processID", "null").json["result"]?.integer
            let second = try await host.call("processID", "null").json["result"]?.integer
            #expect(first != nil)
            #expect(first == second)
            #expect(first.map { host.directory.workers.contains(Int32($0)) } == true)
        }
    }
}
