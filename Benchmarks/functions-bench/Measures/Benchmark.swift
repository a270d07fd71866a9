import Foundation

/// A measurement. It starts the processes that it needs, in its own directory, and ends them.
protocol Benchmark: Sendable {
    /// Its name on the command line.
    static var name: String { get }

    init(pace: Pace)

    /// - Parameter directory: empty, and deleted afterwards.
    func run(in directory: URL) async throws -> Section
}

/// How long to measure.
struct Pace: Sendable {
    var isQuick: Bool

    /// The duration of a timed load.
    var length: Load.Length {
        isQuick
            ? .init(warmUp: .milliseconds(500), measured: .seconds(1))
            : .init(warmUp: .seconds(1), measured: .seconds(3))
    }

    /// How many rounds alternate between ours and the reference, so that noise affects both.
    var rounds: Int { isQuick ? 2 : 4 }

    func count(_ full: Int, quick: Int) -> Int { isQuick ? quick : full }
}

extension Benchmark {
    /// Runs the benchmark in a temporary directory.
    func run() async throws -> Section {
        let directory = FileManager.default.temporaryDirectory
            .appendingPathComponent("functions-bench-\(Self.name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: directory) }
        return try await run(in: directory)
    }

    /// Creates a directory within the benchmark's.
    func folder(_ name: String, in directory: URL) throws -> URL {
        let folder = directory.appendingPathComponent(name)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        return folder
    }
}

extension HostProcess {
    /// Starts a host, passes it to a body, and ends it, also if the body fails.
    static func with<Value: Sendable>(
        _ bundles: [String], environment: [String: String] = [:], settings: String? = nil, in directory: URL,
        _ body: (HostProcess) async throws -> Value
    ) async throws -> Value {
        let host = try await start(bundles: bundles, environment: environment, settings: settings, in: directory)
        do {
            let value = try await body(host)
            await host.child.stop()
            return value
        } catch {
            await host.child.stop()
            throw error
        }
    }
}
