import ControlProtocol
import Deployments
import HostConfiguration
import Foundation
import NIOCore

/// Measures calls while releases are switched, and how long a switch takes.
struct ReleaseBenchmark: Benchmark {
    static let name = "releases"
    private static let clients = 16
    private static let bundle = "bundle0"

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        try await HostProcess.with(["ShopFunctions"], in: directory) { host in
            let control = HostControl(
                try HostConfiguration.load(directory.appendingPathComponent("functions.json").path).data)
            let releases = try await deploy(control, in: directory)
            let request = Requests(port: host.ports.functions).get(HostProcess.path("catalog"))
            var (still, switched) = (LoadReport(), LoadReport())
            var times: [Double] = []
            for _ in 0..<pace.rounds {
                still.add(try await load(request, host))
                async let report = load(request, host)
                let end = ContinuousClock.now + pace.length.warmUp + pace.length.measured
                while ContinuousClock.now < end {
                    let start = ContinuousClock.now
                    try await rollBack(to: releases[times.count % 2], control)
                    times.append((ContinuousClock.now - start).seconds)
                    try await Task.sleep(for: .milliseconds(200))
                }
                switched.add(try await report)
            }
            var section = Section(
                "HTTP function of the shop, \(Self.clients) clients, while releases of 6 functions are switched",
                notes: [
                    "reference: the same without a switch", "\(times.count) switches, 0.2 s apart",
                    "a switch: checksum of the release, a new worker of each function, and the index synced",
                ])
            section.add("during switches", switched, beside: still)
            section.add(
                Row("a rollback: p50", .milliseconds(LoadReport.median(times)), aim: .atMost(.milliseconds(1))))
            section.add(Row("a rollback: p95", .milliseconds(LoadReport.percentile(0.95, of: times))))
            return section
        }
    }

    private func load(_ request: ByteBuffer, _ host: HostProcess) async throws -> LoadReport {
        let caller = RepeatingCaller([request]) { $0.status == 200 }
        return try await Load.run(
            Array(repeating: caller, count: Self.clients), to: host.ports.functions, for: pace.length,
            of: host.child.tree)
    }

    /// Deploys two releases of the same functions; the second one is served.
    /// - Returns: their ids.
    private func deploy(_ control: HostControl, in directory: URL) async throws -> [String] {
        let programs = URL(fileURLWithPath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        var program = try Data(contentsOf: programs.appendingPathComponent("ShopFunctions"))
        var ids: [String] = []
        for number in 0..<2 {
            // Bytes after the end of an executable change its checksum and nothing else.
            program.append(contentsOf: Data("\(number)".utf8))
            let file = directory.appendingPathComponent("release-\(number)")
            try program.write(to: file)
            try FileManager.default.setAttributes([.posixPermissions: 0o755], ofItemAtPath: file.path)
            var request = ControlRequest("releases", "prepare")
            for (name, value) in [
                ("bundle", Self.bundle), ("executable", file.path), ("source", file.path), ("user", "bench"),
            ] { request.add(name, value) }
            let plan = try await control.ask(request, as: DeploymentPlan.self)
            var activation = ControlRequest("releases", "activate")
            activation.add("replacing", plan.current)
            for (name, value) in [
                ("bundle", Self.bundle), ("release", plan.release), ("action", "deploy"), ("user", "bench"),
            ] { activation.add(name, value) }
            _ = try await control.ask(activation, as: ReleaseEvent.self)
            ids.append(plan.release)
        }
        return ids
    }

    private func rollBack(to release: String, _ control: HostControl) async throws {
        var request = ControlRequest("releases", "rollback")
        for (name, value) in [("bundle", Self.bundle), ("release", release), ("user", "bench")] {
            request.add(name, value)
        }
        _ = try await control.ask(request, as: ReleaseEvent.self)
    }
}
