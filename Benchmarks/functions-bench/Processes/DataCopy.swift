import Foundation

/// `data import` or `data export`, by a host that runs.
struct DataCopy {
    let seconds: Double
    /// The most memory of the command.
    let commandBytes: Int
    /// By how much the host grew meanwhile.
    let hostGrowth: Int

    /// - Parameters:
    ///   - command: `import` or `export`.
    ///   - directory: that of the host's `functions.json`.
    /// - Throws: if the command doesn't report success.
    init(
        _ command: String, _ file: URL, _ options: [String] = [], of host: HostProcess, in directory: URL
    ) async throws {
        let before = try host.child.tree.residentBytes()
        let watch = Task { try await host.child.tree.peakResidentBytes() }
        defer { watch.cancel() }
        let start = ContinuousClock.now
        let child = try ChildProcess(
            host.program,
            ["data", command, file.path, "--config", directory.appendingPathComponent("functions.json").path] + options,
            log: directory.appendingPathComponent("\(command).log"))
        var peak = 0
        while child.isRunning {
            // It may end meanwhile.
            peak = max(peak, (try? child.tree.residentBytes()) ?? 0)
            try await Task.sleep(for: .milliseconds(50))
        }
        seconds = (ContinuousClock.now - start).seconds
        guard child.output.contains("\(command)ed ") else {
            throw LoadError("\(command): \(child.output.suffix(500))")
        }
        watch.cancel()
        commandBytes = peak
        hostGrowth = max(0, try await watch.value - before)
    }

    func addMemory(_ command: String, to section: inout Section) {
        section.add(
            Row("\(command): memory of the command", .bytes(commandBytes), aim: .atMost(.bytes(100_000_000))))
        section.add(
            Row("\(command): memory of the host, growth", .bytes(hostGrowth), aim: .atMost(.bytes(100_000_000))))
    }
}
