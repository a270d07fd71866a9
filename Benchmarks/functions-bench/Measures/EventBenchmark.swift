import Foundation

/// Measures document triggers of a running host: how soon a handler starts, and how many changes are handled per
/// second.
struct EventBenchmark: Benchmark {
    static let name = "events"

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Document triggers, from the commit to the handler",
            notes: [
                "each delivery is durable with the change, and its end too",
                "a handler's start is measured from the commit's time, so it includes the sync",
                "patterns: registered patterns, one of which matches the written document",
            ])
        for patterns in [1, 100, 1000] {
            let folder = try folder("patterns-\(patterns)", in: directory)
            try await HostProcess.with(
                ["FixtureFunctions"], environment: ["FIXTURE_PATTERNS": "\(patterns)"], in: folder
            ) { host in
                let stamps = Stamps(folder.appendingPathComponent("stamps"), host)
                try await measure(stamps, "\(patterns) \(patterns == 1 ? "pattern" : "patterns")", &section)
            }
        }
        return section
    }

    private func measure(_ stamps: Stamps, _ name: String, _ section: inout Section) async throws {
        // The worker's start is measured elsewhere.
        _ = try await stamps.afterCommits(of: 1, count: 20)
        let single = try await stamps.afterCommits(of: 1, count: pace.count(1000, quick: 300))
        section.add(
            Row(
                "\(name), one change at a time: p50", .milliseconds(single.percentile(0.5)),
                aim: .atMost(.milliseconds(0.001))))
        section.add(
            Row(
                "\(name), one change at a time: p99", .milliseconds(single.percentile(0.99)),
                aim: .atMost(.milliseconds(0.005))))
        let flood = try await stamps.afterCommits(of: 400, count: pace.count(40_000, quick: 8000))
        section.add(Row("\(name), a flood, 400 in a commit: handled", .perSecond(flood.perSecond)))
        section.add(Row("\(name), a flood: CPU each", .microseconds(flood.cpuPerOperation)))
    }
}

/// The output of the fixture's `stamp` function.
private struct Stamps {
    let file: URL
    let host: HostProcess

    init(_ file: URL, _ host: HostProcess) {
        self.file = file
        self.host = host
    }

    /// Creates documents and waits until a handler has received each.
    ///
    /// - Parameter size: the number of documents in one commit. Single-document commits are sequential; larger ones
    ///   run four at a time.
    func afterCommits(of size: Int, count: Int) async throws -> LoadReport {
        try? FileManager.default.removeItem(at: file)
        let documents = Documents(port: host.ports.firestore)
        let run = UUID().uuidString
        let writes = (0..<count).map {
            Documents.set("stamps/\(run)-\($0)", #""file":{"stringValue":"\#(file.path)"}"#)
        }
        let cpu = try host.child.tree.cpuSeconds()
        let start = ContinuousClock.now
        if size == 1 {
            let requests = writes.map { documents.commit([$0]) }
            try await Load.runToEnd([ListCaller(requests)], to: host.ports.firestore).check()
        } else {
            try await documents.store(writes)
        }
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
