import Foundation
import TestSupport
import Testing

/// `functions-host schedules` against the real host, whose workers take the runs.
@Suite(.endsHangs) struct ScheduleCommandTests {
    private func list(_ host: RunningHost, _ name: String) async throws -> JSON? {
        let run = try await host.command(["schedules", "list", "--json", "--count", "2"])
        #expect(run.status == 0, "\(run.errors)")
        return run.json?["schedules"]?.list.first { $0["name"]?.text == name }
    }

    @Test func jobsAreListedAndRunByHand() async throws {
        try await RunningHost.serving { host in
            let nightly = try #require(try await list(host, "nightly"))
            #expect(nightly["timeZone"]?.text == "Asia/Tokyo")
            let next = nightly["next"]?.list.compactMap(\.text) ?? []
            #expect(next.count == 2 && next.allSatisfy { $0.hasSuffix("T03:00:00+09:00") }, "\(next)")
            #expect(nightly["lastRun"]?.text == nil)

            let run = try await host.command(["schedules", "run", "job", "--wait"])
            #expect(run.status == 0 && run.output.contains("the run of job succeeded"), "\(run.output) \(run.errors)")
            let last = try #require(try await list(host, "job")?["lastRun"])
            #expect(last["outcome"]?.text == "succeeded")

            try await host.put("jobs/job", #"{"fails":{"booleanValue":true}}"#)
            let failed = try await host.command(["schedules", "run", "job", "--wait", "--json"])
            #expect(failed.status == 2, "\(failed.output) \(failed.errors)")
            #expect(["dead", "failed"].contains(failed.json?["outcome"]?.text))

            // What a handler says may be a client's, and is to be seen on a terminal.
            try await host.put("jobs/job", #"{"fails":{"stringValue":"red \u001b[31m\nnext"}}"#)
            let controlling = try await host.command(["schedules", "run", "job", "--wait"])
            #expect(controlling.status == 2 && controlling.output.contains("red  [31m next\n"), "\(controlling.output)")

            let table = try await host.command(["schedules", "list"])
            #expect(table.output.contains("nightly  0 3 * * *  Asia/Tokyo\n  next  "), "\(table.output)")
            let unknown = try await host.command(["schedules", "run", "missing"])
            #expect(unknown.status == 1 && unknown.errors.contains("no function missing has a schedule"))
        }
    }

    @Test func aJobsStateSurvivesAKill() async throws {
        let directory = try HostDirectory()
        try directory.configure([.fixture])
        await HostSlots.take()
        defer { HostSlots.release() }
        let host = try await RunningHost.start(in: directory)
        let before: String
        do {
            #expect(try await host.command(["schedules", "run", "job", "--wait"]).status == 0)
            before = try #require(try await list(host, "job")?["lastRun"]?["due"]?.text)
        } catch {
            try await host.kill()
            throw error
        }
        try await host.kill()
        let alone = try await host.command(["schedules", "list"])
        #expect(alone.status == 3 && alone.errors.contains("no host runs on the data directory"), "\(alone.errors)")
        let next = try await RunningHost.start(in: directory)
        let after = try await list(next, "job")?["lastRun"]?["due"]?.text
        try await next.kill()
        #expect(after == before)
    }
}
