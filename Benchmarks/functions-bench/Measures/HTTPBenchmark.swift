import Foundation
import NIOCore

/// Measures HTTP functions: a route beside Hummingbird's router, a long streamed response, and the cost of the log's line
/// for each call.
struct HTTPBenchmark: Benchmark {
    static let name = "http"
    private static let clients = 16
    private static let rows = 1_000_000

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "HTTP functions, \(Self.clients) clients",
            notes: [
                "reference of the route: a bare Hummingbird server with the same 20 routes, without isolation",
                "reference of the log: the same host without a line for each call",
            ])
        let reference = try await ReferenceProcess.start(in: directory)
        do {
            let quiet = try folder("quiet", in: directory)
            try await HostProcess.with(["FixtureFunctions"], in: directory) { host in
                try await HostProcess.with(["FixtureFunctions"], settings: #""logs": { "calls": false }"#, in: quiet) {
                    try await route(host, reference, &section)
                    try await stream(host, &section)
                    try await line(host, beside: $0, &section)
                }
            }
            await reference.child.stop()
            return section
        } catch {
            await reference.child.stop()
            throw error
        }
    }

    private func route(_ host: HostProcess, _ reference: ReferenceProcess, _ section: inout Section) async throws {
        var (ours, theirs) = (LoadReport(), LoadReport())
        let path = "/\(HostProcess.project)/us-central1/routed/items17/tea?limit=3"
        for _ in 0..<pace.rounds {
            theirs.add(
                try await load(
                    Requests(port: reference.port).get("/items17/tea?limit=3"), to: reference.port, reference.child.tree
                ))
            ours.add(
                try await load(
                    Requests(port: host.ports.functions).get(path), to: host.ports.functions, host.child.tree))
        }
        section.add("one of 20 routes", ours, beside: theirs)
    }

    private func load(_ request: ByteBuffer, to port: Int, _ server: ProcessTree) async throws -> LoadReport {
        let caller = RepeatingCaller([request]) { answer in
            // Foundation's encoder writes members in any order.
            [#"{"id":"tea","limit":3}"#, #"{"limit":3,"id":"tea"}"#].contains(String(buffer: answer.body))
        }
        return try await Load.run(
            Array(repeating: caller, count: Self.clients), to: port, for: pace.length, of: server)
    }

    private func stream(_ host: HostProcess, _ section: inout Section) async throws {
        let port = host.ports.functions
        let request = Requests(port: port).get("/\(HostProcess.project)/us-central1/rows?count=\(Self.rows)")
        let (start, cpu) = (ContinuousClock.now, try host.child.tree.cpuSeconds())
        let answer = try await Load.ask(request, of: port)
        let time = (ContinuousClock.now - start) / .seconds(1)
        let lines = answer.body.readableBytesView.count { $0 == UInt8(ascii: "\n") }
        guard lines == Self.rows else { throw LoadError("\(lines) of \(Self.rows) rows arrived") }
        section.add(Row("\(Self.rows) rows, each a write: all", .milliseconds(time)))
        section.add(
            Row("a row: CPU", .microseconds((try host.child.tree.cpuSeconds() - cpu) / Double(Self.rows))))
    }

    private func line(_ host: HostProcess, beside quiet: HostProcess, _ section: inout Section) async throws {
        var (ours, theirs) = (LoadReport(), LoadReport())
        var (ourThreads, theirThreads) = (0.0, 0.0)
        for _ in 0..<2 * pace.rounds {
            let before = try quiet.child.tree.rootCPUSeconds(without: Self.logThread)
            let quietReport = try await calls(quiet)
            theirThreads += try quiet.child.tree.rootCPUSeconds(without: Self.logThread) - before
            theirs.add(quietReport)
            let start = try host.child.tree.rootCPUSeconds(without: Self.logThread)
            let report = try await calls(host)
            ourThreads += try host.child.tree.rootCPUSeconds(without: Self.logThread) - start
            ours.add(report)
        }
        section.check(ours, "a call with a line")
        section.check(theirs, "a call without a line")
        // Without the share of the calls that warm up, which aren't counted.
        let share = pace.length.measured / (pace.length.warmUp + pace.length.measured)
        let one = ourThreads * share / Double(max(1, ours.operations))
        let other = theirThreads * share / Double(max(1, theirs.operations))
        section.add(
            Row(
                "a call with a line: CPU of the host but its log's threads", .microseconds(one),
                beside: .microseconds(other)))
        section.add(
            Row(
                "a call with a line: CPU with all threads and workers", .microseconds(ours.cpuPerOperation),
                beside: .microseconds(theirs.cpuPerOperation)))
    }

    /// The name of the threads that format and write lines.
    private static let logThread = "log"

    private func calls(_ host: HostProcess) async throws -> LoadReport {
        let request = Requests(port: host.ports.functions).post(HostProcess.path("echo"), #"{"data":1}"#)
        let caller = RepeatingCaller([request]) { $0.status == 200 }
        return try await Load.run(
            Array(repeating: caller, count: Self.clients), to: host.ports.functions, for: pace.length,
            of: host.child.tree)
    }
}
