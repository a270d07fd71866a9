import Foundation
import StorageEngine

/// Measures `data import` and `data export` of documents by a host that runs, and the space that they take.
struct DocumentCopyBenchmark: Benchmark {
    static let name = "documents"

    var pace: Pace

    private var count: Int { pace.count(1_000_000, quick: 50_000) }

    func run(in directory: URL) async throws -> Section {
        let file = directory.appendingPathComponent("products.jsonl")
        try write(to: file)
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
        let lines = try String(contentsOf: directory.appendingPathComponent("copy.jsonl"), encoding: .utf8)
            .utf8.count { $0 == UInt8(ascii: "\n") }
        if lines != count + 2 { section.fail("\(lines - 2) documents were exported") }
        section.add(Row("disk", .bytes(try DiskSpace.bytes(below: directory.appendingPathComponent(".functions")))))
        return section
    }

    private func write(to file: URL) throws {
        try Data().write(to: file)
        let output = try FileHandle(forWritingTo: file)
        defer { try? output.close() }
        try output.write(
            contentsOf: Data(
                (#"{"format":"functions-host documents","version":1,"project":"demo-shop","database":"(default)","#
                    + #""readTime":"2026-11-21T14:46:56.306772Z"}"# + "\n").utf8))
        for start in stride(from: 0, to: count, by: 1000) {
            let lines = (start..<min(start + 1000, count)).map { Self.line($0) }
            try output.write(contentsOf: Data(lines.joined().utf8))
        }
        try output.write(contentsOf: Data("{\"count\":\(count)}\n".utf8))
    }

    private static func line(_ number: Int) -> String {
        let digits = String(number)
        let id = "product-" + String(repeating: "0", count: 12 - digits.count) + digits
        return #"{"path":"products/\#(id)","fields":{"name":{"stringValue":"Cup \#(number)"},"#
            + #""desc":{"stringValue":"Porcelain, 80 ml, for an espresso"},"price":{"integerValue":"\#(number % 9000)"},"#
            + #""stock":{"integerValue":"\#(number % 1000)"},"#
            + #""imageURL":{"stringValue":"https://shop.example/images/\#(number).jpg"},"#
            + #""publishedTime":{"timestampValue":"2026-01-02T03:04:05.678901Z"},"#
            + #""owner":{"stringValue":"users/seller-\#(number % 100)"},"rank":{"integerValue":"\#(number)"}}}"#
            + "\n"
    }
}
