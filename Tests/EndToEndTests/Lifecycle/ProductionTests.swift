import Foundation
import TestSupport
import Testing

/// What only a host in production does.
@Suite(.endsHangs) struct ProductionTests {
    /// There the port of events stays closed: another program may use its number.
    @Test func programsHaveNoPortOfEvents() async throws {
        try await RunningHost.serving([]) { other in
            let directory = try HostDirectory()
            try directory.write(
                """
                { "project": "my-shop-1", "mode": "production", "data": "\(directory.data)", "bundles": [],
                  "listen": { "functions": 0, "firestore": 0, "events": \(other.events.port) } }
                """, to: "functions.json")
            let process = try HostProcess(directory)
            defer { process.send(SIGKILL) }
            try await Bound.wait("the host serves") {
                guard process.isRunning else { throw Bound.Exceeded(description: process.errors) }
                return process.output.contains("firestore")
            }
            #expect(process.output.contains("in production mode"))
            #expect(!process.output.contains("events"))
            process.send(SIGTERM)
            #expect(try await process.end() == 0)
        }
    }
}
