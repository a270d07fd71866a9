import Foundation

/// Measures `data import` and `data export` of a Realtime Database by a host that runs.
struct DatabaseCopyBenchmark: Benchmark {
    static let name = "database"
    private static let textSize = 200

    var pace: Pace

    private var size: Int { pace.count(1_000_000_000, quick: 50_000_000) }

    func run(in directory: URL) async throws -> Section {
        let file = directory.appendingPathComponent("rooms.json")
        let bytes = try write(to: file)
        var section = Section(
            "Realtime Database: import and export of \(Quantity.bytes(bytes).text)",
            notes: [
                "one JSON value, which replaces what exists in one change",
                "memory: the most of the command, and how much the host grew meanwhile",
            ])
        try await HostProcess.with([], in: directory) { host in
            try await copy("import", file, bytes, host, in: directory, &section)
            let copy = directory.appendingPathComponent("copy.json")
            try await self.copy("export", copy, bytes, host, in: directory, &section)
            // A line break follows the value.
            let exported = try FileManager.default.attributesOfItem(atPath: copy.path)[.size] as? Int
            if exported != bytes + 1 { section.fail("\(exported ?? 0) bytes were exported") }
        }
        return section
    }

    private func copy(
        _ command: String, _ file: URL, _ bytes: Int, _ host: HostProcess, in directory: URL,
        _ section: inout Section
    ) async throws {
        let copy = try await DataCopy(
            command, file, ["--database", RealtimeREST.namespace], of: host, in: directory)
        section.add(
            Row(
                "\(command): bytes a second", .bytes(Int(Double(bytes) / copy.seconds)),
                aim: .atLeast(.bytes(20_000_000))))
        copy.addMemory(command, to: &section)
    }

    /// - Returns: its length.
    private func write(to file: URL) throws -> Int {
        try Data().write(to: file)
        let output = try FileHandle(forWritingTo: file)
        defer { try? output.close() }
        let text = String(repeating: "The quick brown fox jumps over the lazy dog. ", count: 5).prefix(Self.textSize)
        var length = 0
        func append(_ piece: String) throws {
            try output.write(contentsOf: Data(piece.utf8))
            length += piece.utf8.count
        }
        try append("{")
        var room = 0
        while length < size {
            let messages = (0..<1000).map { number in
                // In the order of an export.
                #""m\#(1000 + number)":{"at":\#(1_795_000_000_000 + number),"by":"user-\#(number % 7)","text":"\#(text)"}"#
            }
            try append((room == 0 ? "" : ",") + "\"r\(1_000_000 + room)\":{\(messages.joined(separator: ","))}")
            room += 1
        }
        try append("}")
        return length
    }
}
