import Foundation
import TestSupport
import Testing

/// `functions-host deliveries`, `pause`, `resume` and `metrics` against the real host.
@Suite(.endsHangs) struct DeliveryCommandTests {
    private static let queue = "/projects/demo-shop/locations/us-central1/queues"

    /// Enqueues a task for the fixture's queue over HTTP.
    /// - Returns: its id.
    @discardableResult
    private func enqueue(_ host: RunningHost, does: String, name: String? = nil) async throws -> String {
        let body = Data(#"{"data":{"does":"\#(does)"}}"#.utf8).base64EncodedString()
        let named = name.map { #","name":"projects/demo-shop/locations/us-central1/queues/work/tasks/\#($0)""# } ?? ""
        let answer = try await host.events.send(
            "POST", Self.queue + "/work/tasks", headers: ["Content-Type": "application/json"],
            #"{"task":{"httpRequest":{"body":"\#(body)"}\#(named)}}"#)
        #expect(answer.status == 200, "\(answer.text)")
        let resource = try #require(answer.json["task"]?["name"]?.text)
        return try #require(resource.split(separator: "/").last.map { String($0) })
    }

    private func deliveries(_ host: RunningHost, _ arguments: String...) async throws -> [JSON] {
        let run = try await host.command(["deliveries", "list", "--json"] + arguments)
        #expect(run.status == 0, "\(run.errors)")
        return run.json?["deliveries"]?.list ?? []
    }

    @Test func aDeadLetterIsListedShownRetriedAndDropped() async throws {
        try await RunningHost.serving { host in
            let event = try await enqueue(host, does: "fail")
            try await Bound.wait("the task is a dead letter") {
                try await deliveries(host, "--state", "dead").count == 1
            }
            let listed = try #require(try await deliveries(host, "--function", "work").first)
            #expect(listed["event"]?.text == event && listed["state"]?.text == "dead")
            #expect(listed["tries"]?.integer == 3)
            #expect(try await deliveries(host, "--state", "pending").isEmpty)
            #expect(try await deliveries(host, "--older-than", "1h").isEmpty)

            let shown = try await host.command(["deliveries", "show", "work", event])
            #expect(shown.status == 0)
            for words in ["It failed.", #"{"data":{"does":"fail"}}"#, "state", "dead", "unauthenticated"] {
                #expect(shown.output.contains(words), "\(shown.output)")
            }
            let table = try await host.command(["deliveries", "list"])
            #expect(table.output.hasPrefix("FUNCTION") && table.output.contains("It failed."))

            let retried = try await host.command(["deliveries", "retry", "work", event])
            #expect(retried.output == "1 delivery will be retried\n", "\(retried.errors)")
            try await Bound.wait("the task has failed again") {
                try await deliveries(host, "--state", "dead").first?["tries"]?.integer == 3
            }
            #expect(try await host.command(["deliveries", "drop", "work", event]).status == 0)
            #expect(try await deliveries(host).isEmpty)
            let gone = try await host.command(["deliveries", "drop", "work", event])
            #expect(gone.status == 1 && gone.errors.contains("has no delivery of the event"))
            try await host.expectEcho()
        }
    }

    @Test func whatIsPausedKeepsItsDeliveriesUntilItIsResumed() async throws {
        try await RunningHost.serving { host in
            for (pause, resume) in [(["work"], ["work"]), (["--all"], ["--all"])] {
                let paused = try await host.command(["pause"] + pause)
                #expect(paused.status == 0 && paused.output.contains("paused since"), "\(paused.errors)")
                for _ in 1...3 { try await enqueue(host, does: "nothing") }
                #expect(try await deliveries(host, "--state", "pending").count == 3)
                // Counted once a second at most.
                try await Bound.wait("the statistics tell of the pause") {
                    let statistics = try await host.command(["deliveries", "stats", "--json"])
                    let work = statistics.json?["functions"]?.list.first { $0["name"]?.text == "work" }
                    return work?["pending"]?.integer == 3 && work?["paused"]?.text != nil
                }
                #expect(try await host.command(["resume"] + resume).output == "nothing is paused\n")
                try await Bound.wait("all is delivered") { try await deliveries(host).isEmpty }
            }
            #expect(try await host.command(["pause"]).output == "nothing is paused\n")
            let unknown = try await host.command(["pause", "wrk"])
            #expect(unknown.status == 1 && unknown.errors.contains("there is no function wrk"))
            #expect(try await host.command(["resume"]).status == 64)

            let metrics = try await host.command(["metrics"]).output
            #expect(metrics.contains("functions_delivery_tries_total{function=\"work\"} 6\n"), "\(metrics)")
            let scraped = try await host.events.send("GET", "/metrics")
            #expect(scraped.text.contains("functions_delivery_tries_total{function=\"work\"} 6\n"))
            #expect(scraped["content-type"]?.hasPrefix("text/plain; version=0.0.4") == true)
        }
    }

    @Test func manyAreDroppedOnlyWithYes() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.command(["pause", "--all"]).status == 0)
            for number in 1...3 { try await enqueue(host, does: "nothing", name: "task-\(number)") }
            let asked = try await host.command(["deliveries", "drop", "--all"])
            #expect(asked.status == 2 && asked.output.contains("drops 3 deliveries"))
            #expect(try await deliveries(host).count == 3)
            #expect(try await host.command(["deliveries", "drop", "--function", "work", "--yes"]).status == 0)
            #expect(try await deliveries(host).isEmpty)
            for wrong in [
                ["drop"], ["drop", "work"], ["retry", "--all", "--function", "work"], ["list", "--state", "x"],
            ] {
                #expect(try await host.command(["deliveries"] + wrong).status == 64, "\(wrong)")
            }
        }
    }

    @Test func withoutAHostDeliveriesAreReadAndNothingIsChanged() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.command(["pause", "work"]).status == 0)
            let event = try await enqueue(host, does: "nothing")
            try await host.kill()
            #expect(try await deliveries(host).map { $0["event"]?.text } == [event])
            #expect(try await host.command(["deliveries", "show", "work", event]).output.contains("\"does\""))
            #expect(try await host.command(["deliveries", "stats"]).output.contains("work"))
            for arguments in [["deliveries", "retry", "--all"], ["metrics"]] {
                let run = try await host.command(arguments)
                #expect(run.status == 3 && run.errors.contains("no host runs on the data directory"), "\(arguments)")
            }
            // The pause is kept, and the delivery with it.
            let again = try await RunningHost.start(in: host.directory)
            #expect(try await again.command(["pause"]).output.contains("work: paused since"))
            #expect(try await deliveries(again).count == 1)
            #expect(try await again.command(["resume", "work"]).status == 0)
            try await Bound.wait("it is delivered") { try await deliveries(again).isEmpty }
            try await again.kill()
        }
    }

    /// As after a restore: what was pending at the time of the backup is to be looked at first.
    @Test func whatIsPausedWithoutAHostIsPausedWhenItStarts() async throws {
        try await RunningHost.serving { host in
            #expect(try await host.command(["pause", "work"]).status == 0)
            let event = try await enqueue(host, does: "nothing")
            try await host.kill()
            #expect(try await host.command(["pause"]).output.hasPrefix("work: paused since"))
            let paused = try await host.command(["pause", "--all"])
            #expect(paused.status == 0 && paused.output.hasPrefix("everything is paused since"), "\(paused.errors)")
            let unknown = try await host.command(["pause", "w/k"])
            #expect(unknown.status == 1 && unknown.errors.contains("no function is named w/k"), "\(unknown.errors)")
            let other = try await host.command(["resume", "other"])
            #expect(other.status == 1 && other.errors.contains("other isn't paused by name"), "\(other.errors)")
            let resumed = try await host.command(["resume", "work"]).output
            #expect(resumed.hasPrefix("everything is paused since") && !resumed.contains("work"), "\(resumed)")

            let again = try await RunningHost.start(in: host.directory)
            #expect(try await again.command(["pause"]).output.contains("everything is paused since"))
            #expect(try await deliveries(again).map { $0["event"]?.text } == [event])
            try await again.kill()
            #expect(try await host.command(["resume", "--all"]).output == "nothing is paused\n")
            let last = try await RunningHost.start(in: host.directory)
            try await Bound.wait("it is delivered") { try await deliveries(last).isEmpty }
            try await last.kill()
        }
    }
}

extension RunningHost {
    /// Runs `functions-host` with arguments in the host's directory.
    func command(_ arguments: [String]) async throws -> DataCommandRun {
        try await DataCommandRun.run(arguments, in: directory, command: nil)
    }
}
