import Foundation
import Synchronization
import Testing

/// A host that is killed and started again on the same data, while its callers go on.
final class MortalHost: Sendable {
    let directory: HostDirectory
    private let running: Mutex<RunningHost>

    convenience init(_ bundles: [HostDirectory.Bundle], extra: String = "") async throws {
        let directory = try HostDirectory()
        try directory.configure(bundles, extra: extra)
        try await self.init(in: directory)
    }

    /// - Parameter directory: has a configuration.
    init(in directory: HostDirectory) async throws {
        self.directory = directory
        running = Mutex(try await RunningHost.start(in: directory))
    }

    /// The one that runs, or that ran last.
    var current: RunningHost { running.withLock { $0 } }

    /// Kills it in the middle of whatever it does, and returns once another one serves.
    ///
    /// - Parameter end: what must have ended before another one starts.
    func dieAndReturn(once end: () async -> Void = {}) async throws {
        try await current.kill()
        await end()
        let next = try await RunningHost.start(in: directory)
        running.withLock { $0 = next }
    }

    /// The processes that run its functions.
    var workers: [Int32] { directory.workers }

    /// Whether a delivery has failed and is scheduled for a retry.
    var hasPlannedRetry: Bool {
        get async throws {
            try await deliveries().contains { left in
                left.state == "pending" && left.tries > 0 && left.due.map { $0 > .now + 2 } == true
            }
        }
    }

    /// Returns once every delivery has succeeded, which needs no help: a delivery that failed with a killed worker is
    /// retried when its pause is over.
    ///
    /// - Throws: ``Bound/Exceeded`` that names what is left, if any was given up or the time limit has come.
    func settle() async throws {
        var left = try await deliveries()
        while !left.isEmpty {
            guard left.allSatisfy({ $0.state != "dead" }), !Task.isCancelled else {
                let lines = left.map { "\($0)" }.joined(separator: "\n")
                throw Bound.Exceeded(description: "\(left.count) deliveries are stuck or given up:\n\(lines)")
            }
            try await Bound.pause(milliseconds: 200)
            left = try await deliveries()
        }
    }

    /// A delivery that is not done.
    private struct Left: CustomStringConvertible {
        var json: JSON
        var state: String? { json["state"]?.text }
        var tries: Int { json["tries"]?.integer ?? 0 }
        var due: Date? { json["due"]?.text.flatMap { try? Date($0.prefix(19) + "Z", strategy: .iso8601) } }

        var description: String {
            let fields = ["function", "event", "state", "due", "lastError"].compactMap { json[$0]?.text }
            return (fields + ["tries: \(tries)"]).joined(separator: ", ")
        }
    }

    private func deliveries() async throws -> [Left] {
        let run = try await current.command(["deliveries", "list", "--json", "--limit", "100000"])
        guard run.status == 0, let list = run.json?["deliveries"]?.list else {
            throw Bound.Exceeded(description: "deliveries list: \(run.errors)")
        }
        return list.map { Left(json: $0) }
    }

    func end() async throws { try await current.kill() }

    /// Does it again until there is an answer, as a client does whose connection breaks.
    func persist(_ request: (RunningHost) async throws -> HTTPAnswer) async throws -> HTTPAnswer {
        while true {
            do {
                return try await request(current)
            } catch {
                guard !Task.isCancelled else { throw error }
                try await Bound.pause(milliseconds: 20)
            }
        }
    }
}
