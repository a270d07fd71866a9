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
                let stamps = Stamps(
                    folder.appendingPathComponent("stamps"), host, port: host.ports.firestore
                ) { commit, file in
                    Documents(port: host.ports.firestore).commit(
                        commit.map { Documents.set("stamps/\($0)", #""file":{"stringValue":"\#(file)"}"#) })
                }
                try await stamps.measure("\(patterns) \(patterns == 1 ? "pattern" : "patterns")", pace, &section)
            }
        }
        return section
    }
}
