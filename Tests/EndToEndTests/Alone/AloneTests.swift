import Foundation
import TestSupport
import Testing

/// A bundle's executable that serves without a host.
@Suite(.endsHangs) struct AloneTests {
    @Test func functionsAreServedAsAHostServesThem() async throws {
        try await RunningBundle.serving { bundle in
            for path in ["/hello", "/demo-shop/us-central1/hello"] {
                let answer = try await bundle.call("hello", #""Ada""#, path: path)
                #expect(answer.text == #"{"result":"Hello, Ada, 10 times"}"#)
            }
            #expect(try await bundle.functions.send("PUT", "/page/deep?x=1").text == "PUT /deep")
            let stream = try await bundle.call("countdown", "2", headers: ["Accept": "text/event-stream"])
            #expect(stream.events.map { $0["message"]?.integer } == [2, 1, nil])
            #expect(stream.events.last?["result"]?.text == "liftoff")
            let health = try await bundle.functions.send("GET", "/__/health")
            #expect(health.text == #"{"status":"SERVING"}"#)
            // In production it would tell everybody what there is.
            #expect(try await bundle.functions.send("GET", "/__/functions.yaml").status == 404)
        }
    }

    @Test func inDevelopmentTheFunctionsThatAreServedAreListed() async throws {
        try await RunningBundle.serving(RunningBundle.development) { bundle in
            let document = try await bundle.functions.send("GET", "/__/functions.yaml").text
            #expect(document.contains("  hello:\n"))
            #expect(!document.contains("nightly"))
        }
    }

    @Test func whatNeedsAHostIsToldAndNotThere() async throws {
        try await RunningBundle.serving { bundle in
            let line = try #require(bundle.process.errors.split(separator: "\n").first { $0.contains("aren't served") })
            #expect(line.contains("created (a document trigger), nightly (a scheduled job)"), "\(line)")
            for name in ["created", "nightly", "unknown"] {
                #expect(try await bundle.call(name, "null").status == 404)
            }
        }
    }

    /// In a container no other process reaps it.
    @Test func whatAFunctionLeavesBehindIsReaped() async throws {
        try await RunningBundle.serving { bundle in
            #expect(try await bundle.call("leavesChild", "null").status == 200)
            func adopted(withEnded: Bool) -> [Int32] {
                ProcessTable.children(of: bundle.process.id, withEnded: withEnded).filter { pid in
                    FileManager.default.contents(atPath: "/proc/\(pid)/comm").map { $0 == Data("sleep\n".utf8) }
                        ?? false
                }
            }
            try await Bound.wait("the bundle adopts it") { !adopted(withEnded: false).isEmpty }
            for child in adopted(withEnded: false) { kill(child, SIGKILL) }
            try await Bound.wait("it is reaped") { adopted(withEnded: true).isEmpty }
            #expect(try await bundle.call("hello", #""Ada""#).status == 200)
        }
    }

    @Test func oneFunctionIsServedAtEveryPath() async throws {
        let target = ["FUNCTION_TARGET": "page"]
        // It needs no secret, so none is asked for.
        let environment = RunningBundle.project.merging(target) { $1 }.filter { $0.key != "API_KEY" }
        try await RunningBundle.serving(environment) { bundle in
            for path in ["/", "/hello", "/demo-shop/us-central1/hello"] {
                let answer = try await bundle.functions.send("GET", path)
                #expect(answer.text == "GET \(path)")
            }
            let health = try await bundle.functions.send("GET", "/__/health")
            #expect(health.text == #"{"status":"SERVING"}"#)
        }
        for (name, words) in [("nightly", "a scheduled job"), ("pge", "it has hello, whoami")] {
            let (errors, status) = try await RunningBundle.refusal(
                environment.merging(["FUNCTION_TARGET": name]) { $1 })
            #expect(errors.contains(words), "\(errors)")
            #expect(status == 78)
        }
    }

    @Test func aFunctionThatMisbehavesHarmsNobodyElse() async throws {
        try await RunningBundle.serving { bundle in
            #expect(try await bundle.call("trap", "7").text == CrashTests.hidden)
            #expect(try await bundle.call("trap", "2").text == #"{"result":3}"#)
            let start = ContinuousClock.now
            let late = try await bundle.call("hangs", "null")
            #expect(late.status == 504)
            #expect(late.json["error"]?["status"]?.text == "DEADLINE_EXCEEDED")
            #expect(ContinuousClock.now - start >= .milliseconds(1000))
            #expect(try await bundle.call("hello", #""Ada""#).status == 200)
        }
    }

    @Test func aTimeoutIsLoggedWhereThePlatformLogsTheRequests() async throws {
        try await RunningBundle.serving(RunningBundle.platform) { bundle in
            #expect(try await bundle.call("hello", #""Ada""#, path: "/hello").status == 200)
            #expect(try await bundle.call("hangs", "null", path: "/hangs").status == 504)
            try await Bound.wait("the timeout is logged") {
                bundle.process.output.split(separator: "\n").contains {
                    $0.contains(#""status":"DEADLINE_EXCEEDED""#) && $0.contains(#""logger":"hangs""#)
                }
            }
            #expect(
                !bundle.process.output.contains(#""message":"call","logging.googleapis.com/labels":{"logger":"hello""#))
        }
    }

    @Test func aTermSignalLetsWorkUnderWayEnd() async throws {
        try await RunningBundle.serving { bundle in
            async let running = bundle.call("slow", "1500")
            try await Bound.wait("the slow call runs") { bundle.process.workers.count == 1 }
            let workers = bundle.process.workers
            bundle.process.send(SIGTERM)
            #expect(try await running.text == #"{"result":1500}"#)
            #expect(try await bundle.process.end() == 0)
            #expect(!workers.contains { kill($0, 0) == 0 })
        }
    }

    @Test func workThatOutlastsTheGraceIsToldWithinTenSeconds() async throws {
        try await RunningBundle.serving { bundle in
            async let running = bundle.call("slow", "25000")
            try await Bound.wait("the slow call runs") { bundle.process.workers.count == 1 }
            let start = ContinuousClock.now
            bundle.process.send(SIGTERM)
            let answer = try await running
            let waited = ContinuousClock.now - start
            #expect(answer.json["error"]?["status"]?.text == "UNAVAILABLE")
            // The handler would have run for longer; a slow machine may take longer too.
            #expect(waited >= .seconds(7), "the grace is 8 s of the ten; it was \(waited)")
            #expect(try await bundle.process.end() == 0)
        }
    }
}
