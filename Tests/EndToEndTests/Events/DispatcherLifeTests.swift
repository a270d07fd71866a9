import Foundation
import TestSupport
import Testing

/// Deliveries outlive the host.
@Suite(.endsHangs) struct DispatcherLifeTests {
    @Test func killsLoseNoDeliveryAndRepeatNoEffect() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let host = try await MortalHost([.fixture])
        var count = 0
        for round in 0..<4 {
            for part in 0..<5 {
                let ids = (0..<20).map { "t\(round)-\(part)-\($0)" }
                try await host.current.set("tallied", ids: ids, n: 1)
                count += ids.count
            }
            // While they are worked on.
            try await Bound.wait("some are done") { try await host.current.integer("tallies/all") ?? 0 > count - 90 }
            try await host.dieAndReturn()
        }
        let expected = count
        try await Bound.wait("all are added up") {
            try await host.current.integer("tallies/all") ?? 0 >= expected
        }
        #expect(try await host.current.integer("tallies/all") == expected)
        try await host.end()
    }

    @Test func aHostThatStopsGivesBackWhatRuns() async throws {
        await HostSlots.take()
        defer { HostSlots.release() }
        let directory = try HostDirectory()
        try directory.configure([.fixture], extra: #""limits": { "shutdownGrace": 1 }"#)
        let first = try await RunningHost.start(in: directory)
        try await first.set("patient/a", n: 600_000)
        try await first.wait(of: "patient")
        first.process.send(SIGTERM)
        #expect(try await first.process.end() == 0)
        let second = try await RunningHost.start(in: directory)
        try await Bound.wait("it is run again") { try await second.received(by: "patient").first?.value("runs") == "2" }
        // As if for the first time.
        #expect(try await second.received(by: "patient").first?.value("attempt") == "1")
        try await second.kill()
    }
}
