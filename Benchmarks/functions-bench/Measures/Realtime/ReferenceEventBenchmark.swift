import Foundation

/// Measures the Realtime Database's triggers of a running host, as ``EventBenchmark`` does those of documents.
struct ReferenceEventBenchmark: Benchmark {
    static let name = "database"

    var pace: Pace

    func run(in directory: URL) async throws -> Section {
        var section = Section(
            "Realtime Database: triggers, from the commit to the handler",
            notes: [
                "each delivery is durable with the change, and its end too",
                "patterns: registered patterns, one of which matches the written node",
            ])
        for patterns in [1, 100, 1000] {
            let folder = try folder("patterns-\(patterns)", in: directory)
            try await HostProcess.with(
                ["FixtureFunctions"], environment: ["FIXTURE_REFERENCES": "\(patterns)"], in: folder
            ) { host in
                let rest = RealtimeREST(port: host.ports.database, token: "owner")
                let stamps = Stamps(
                    folder.appendingPathComponent("stamps"), host, port: host.ports.database
                ) { commit, file in
                    let values = commit.map { #""\#($0)":"\#(file)""# }.joined(separator: ",")
                    return rest.requests.patch("/stamps.json", "{\(values)}")
                }
                try await stamps.measure("\(patterns) \(patterns == 1 ? "pattern" : "patterns")", pace, &section)
            }
        }
        return section
    }
}
