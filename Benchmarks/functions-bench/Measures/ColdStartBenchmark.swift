import Foundation
import NIOCore

/// Measures the first call of a function that has no worker.
struct ColdStartBenchmark: Benchmark {
    static let name = "cold"

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        try await HostProcess.with(["FixtureFunctions"], in: directory) { host in
            let request = Requests(port: host.ports.functions)
                .post("/\(HostProcess.project)/us-central1/processID", #"{"data":null}"#)
            let count = pace.count(50, quick: 20)
            var times: [Double] = []
            var section = Section("First call of a function without a worker, \(count) times")
            for _ in 0..<count {
                let start = ContinuousClock.now
                let answer = try await Load.ask(request, of: host.ports.functions)
                times.append((ContinuousClock.now - start).seconds)
                guard let pid = Self.number(answer.body) else {
                    section.fail(answer.excerpt)
                    break
                }
                try await end(pid, of: host)
            }
            section.add(
                Row(
                    "worker start and call: p50", .milliseconds(LoadReport.median(times)),
                    aim: .atMost(.milliseconds(0.020))))
            section.add(Row("worker start and call: p95", .milliseconds(LoadReport.percentile(0.95, of: times))))
            return section
        }
    }

    /// Kills a worker and waits until the host has noticed.
    private func end(_ worker: Int32, of host: HostProcess) async throws {
        kill(worker, SIGKILL)
        try await host.child.wait(for: "end of the worker \(worker)") {
            FileManager.default.fileExists(atPath: "/proc/\(worker)") ? nil : ()
        }
        // The host has reaped the worker; give its event loops a moment to be notified.
        try await Task.sleep(for: .milliseconds(20))
    }

    /// Reads the number in `{"result":4711}`.
    private static func number(_ body: ByteBuffer) -> Int32? {
        Int32(String(decoding: body.readableBytesView.filter { (48...57).contains($0) }, as: UTF8.self))
    }
}
