import Foundation
import Synchronization
import Testing

/// A host that is killed and started again on the same data, while its callers go on.
final class MortalHost: Sendable {
    private let directory: HostDirectory
    private let running: Mutex<RunningHost>

    init(_ bundles: [HostDirectory.Bundle]) async throws {
        directory = try HostDirectory()
        try directory.configure(bundles)
        running = Mutex(try await RunningHost.start(in: directory))
    }

    /// The one that runs, or that ran last.
    var current: RunningHost { running.withLock { $0 } }

    /// Kills it in the middle of whatever it does, and returns once another one serves.
    func dieAndReturn() async throws {
        try await current.kill()
        let next = try await RunningHost.start(in: directory)
        running.withLock { $0 = next }
    }

    /// The processes that run its functions.
    var workers: [Int32] { directory.workers }

    /// Returns once every delivery has succeeded. Those that failed with a killed worker don't wait for their time.
    func settle() async throws {
        let host = current
        try await Bound.wait("all deliveries are done", within: .seconds(120)) {
            // First, and nowhere revived: what was given up is a failure.
            let dead = try await host.command(["deliveries", "list", "--json", "--state", "dead"])
            #expect(dead.json?["deliveries"]?.list == [], "\(dead.output)")
            let run = try await host.command(["deliveries", "list", "--json"])
            guard run.status == 0 else { throw Bound.Exceeded(description: "deliveries list: \(run.errors)") }
            if run.json?["deliveries"]?.list == [] { return true }
            _ = try await host.command(["deliveries", "retry", "--state", "pending"])
            return false
        }
    }

    func end() async throws { try await current.kill() }

    /// Does it again until there is an answer, as a client does whose connection breaks.
    func persist(_ request: (RunningHost) async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        let end = ContinuousClock.now + .seconds(60)
        while true {
            do {
                return try await request(current)
            } catch {
                guard ContinuousClock.now < end else { throw error }
                try await Bound.pause(milliseconds: 20)
            }
        }
    }
}
