import Foundation
import StorageEngine

/// Measures `data import` and `data export` of documents by a host that runs, and the space that they take.
struct DocumentCopyBenchmark: Benchmark {
    static let name = "documents"

    var pace: Pace

    private var count: Int { pace.count(1_000_000, quick: 50_000) }

    func run(in directory: URL) async throws -> Section {
        let file = directory.appendingPathComponent("products.jsonl")
        try ProductExport.write(count, to: file)
        var section = Section(
            "Import and export of \(count) documents, \(MeasuredEngine.kind.rawValue)",
            notes: [
                "documents of 8 fields, each with its automatic index entries; 500 in a commit",
                "memory: the most of the command, and how much the host grew meanwhile",
            ])
        try await HostProcess.with([], in: directory) { host in
            for (command, name) in [("import", file.lastPathComponent), ("export", "copy.jsonl")] {
                let copy = try await DataCopy(
                    command, directory.appendingPathComponent(name), of: host, in: directory)
                section.add(Row("\(command): documents", .perSecond(Double(count) / copy.seconds)))
                copy.addMemory(command, to: &section)
            }
        }
        // A header comes first, and a count last.
        let lines = try ProductExport.lines(of: directory.appendingPathComponent("copy.jsonl"))
        if lines != count + 2 { section.fail("\(lines - 2) documents were exported") }
        section.add(Row("disk", .bytes(try DiskSpace.bytes(below: directory.appendingPathComponent("data")))))
        return section
    }
}
