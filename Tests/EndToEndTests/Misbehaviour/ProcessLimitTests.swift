import Foundation
import TestSupport
import Testing

/// Functions that start processes and leak files.
@Suite(.endsHangs) struct ProcessLimitTests {
    @Test func aFunctionThatStartsTooManyProcessesIsKilledWithAllOfThem() async throws {
        try await RunningHost.serving(extra: #""limits": { "processes": 10 }"#) { host in
            #expect(try await host.call("startsChildren", "5").text == #"{"result":5}"#)
            let answer = try await host.call("startsChildren", "6")
            #expect(answer.status == 500)
            #expect(answer.text == CrashTests.hidden)
            try await host.expectEcho()
            try await Bound.wait("the log tells why") {
                host.process.errors.contains(
                    "the worker was killed: the function started more processes than it may")
            }
            // As many as there were when they were counted.
            #expect(host.process.errors.contains(/worker\.end=processes, 1[12] of 10/))
            try await Bound.wait("only the worker of echo is left") { host.directory.workers.count == 1 }
        }
    }

    @Test func whatAWorkerHasStartedEndsWithAHostThatIsKilled() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.call("startsChildren", "3").text == #"{"result":3}"#)
            #expect(host.directory.workers.count == 4)
            try await host.kill()
            #expect(host.directory.workers.isEmpty)
        }
    }

    @Test func aChildInASessionOfItsOwnEndsWithItsWorker() async throws {
        try await RunningHost.serving { host in
            let child = try #require(try await host.call("startsRunaway", "null").json["result"]?.integer)
            #expect(host.directory.workers.contains(Int32(child)))
            host.process.send(SIGTERM)
            try await host.process.end()
            try await Bound.wait("the child is gone") { host.directory.workers.isEmpty }
        }
    }

    @Test func aFunctionThatLeaksFilesMeetsItsLimitAndTheLogTells() async throws {
        try await RunningHost.serving(extra: #""limits": { "openFiles": 1000 }"#) { host in
            // Short of the limit: a process that is at it may trap before the host looks.
            #expect(try await host.call("leaksFiles", "930").text == #"{"result":930}"#)
            try await Bound.wait("the log tells") {
                host.process.errors.contains("the function has nearly as many files open as it may")
            }
            let more = try #require(try await host.call("leaksFiles", "1000").json["result"]?.integer)
            #expect(more < 70)
            try await host.expectEcho()
            #expect(host.process.errors.contains("files.limit=1000"))
        }
    }
}
