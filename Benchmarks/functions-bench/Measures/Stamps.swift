import Foundation
import NIOCore

/// Measures by the output of the fixture's `stamp` functions: when each change was committed, and when a handler received it.
struct Stamps: Sendable {
    /// The changes in one commit of a flood.
    private static let flood = 400

    private let file: URL
    private let host: HostProcess
    private let port: Int
    private let commit: @Sendable (_ names: [String], _ file: String) -> ByteBuffer

    /// - Parameter commit: the request for one commit that creates something of each name, which holds the file's path.
    init(
        _ file: URL, _ host: HostProcess, port: Int,
        commit: @escaping @Sendable (_ names: [String], _ file: String) -> ByteBuffer
    ) {
        self.file = file
        self.host = host
        self.port = port
        self.commit = commit
    }

    func measure(_ name: String, _ pace: Pace, _ section: inout Section) async throws {
        // The worker's start is measured elsewhere.
        _ = try await afterCommits(of: 1, count: 20)
        let single = try await afterCommits(of: 1, count: pace.count(1000, quick: 300))
        section.add(
            Row(
                "\(name), one change at a time: p50", .milliseconds(single.percentile(0.5)),
                aim: .atMost(.milliseconds(0.001))))
        section.add(
            Row(
                "\(name), one change at a time: p99", .milliseconds(single.percentile(0.99)),
                aim: .atMost(.milliseconds(0.005))))
        let flood = try await afterCommits(of: Self.flood, count: pace.count(40_000, quick: 8000))
        section.add(Row("\(name), a flood, \(Self.flood) in a commit: handled", .perSecond(flood.perSecond)))
        section.add(Row("\(name), a flood: CPU each", .microseconds(flood.cpuPerOperation)))
    }

    /// Makes changes and waits until a handler has received each.
    ///
    /// - Parameter size: the number of changes in one commit. Those of one change are sequential; larger ones run four at
    ///   a time.
    private func afterCommits(of size: Int, count: Int) async throws -> LoadReport {
        try? FileManager.default.removeItem(at: file)
        let run = UUID().uuidString
        let requests = stride(from: 0, to: count, by: size).map { start in
            commit((start..<min(start + size, count)).map { "\(run)-\($0)" }, file.path)
        }
        let cpu = try host.child.tree.cpuSeconds()
        let start = ContinuousClock.now
        try await Load.runToEnd(ListCaller.dealt(requests, to: size == 1 ? 1 : 4), to: port).check()
        let lines = try await lines(count, within: .seconds(120))
        var report = LoadReport()
        for line in lines {
            let times = line.split(separator: " ").compactMap { Int64($0) }
            guard times.count == 2 else { throw LoadError("a stamp is invalid: \(line)") }
            report.add(latency: .microseconds(times[1] - times[0]))
        }
        report.elapsed = (ContinuousClock.now - start).seconds
        report.cpu = try host.child.tree.cpuSeconds() - cpu
        return report
    }

    private func lines(_ count: Int, within limit: Duration) async throws -> [Substring] {
        let end = ContinuousClock.now + limit
        while true {
            let text = (try? String(contentsOf: file, encoding: .utf8)) ?? ""
            let lines = text.split(separator: "\n")
            if lines.count >= count { return lines }
            guard ContinuousClock.now < end else {
                throw LoadError("after \(limit) \(lines.count) of \(count) handlers have begun")
            }
            try await Task.sleep(for: .milliseconds(20))
        }
    }
}
