import WorkerProtocol
import Logging
import NIOCore
import Synchronization

/// What a function logs and prints, within its bounds.
extension Worker {
    /// Warns once about a function that leaks files: beyond its limit, opening a file fails in this function only.
    func hasOpen(_ files: Int) {
        guard files >= limits.openFiles * 9 / 10, !hasWarnedOfFiles.exchange(true, ordering: .relaxed) else { return }
        logger.warning(
            "the function has nearly as many files open as it may",
            metadata: ["files.open": "\(files)", "files.limit": "\(limits.openFiles)"])
    }

    /// Whether the worker may log another line. Lines beyond the budget are dropped.
    func mayWriteLine(_ bytes: Int = 0) -> Bool {
        let verdict = output.withLock { $0.take(bytes, now: now) }
        if verdict == .drop(isFirst: true) {
            schedule(in: .seconds(1)) { [self] in
                let dropped = output.withLock { $0.report() }
                logger.warning(
                    "output was dropped",
                    metadata: [
                        "output.dropped": "\(dropped)",
                        "output.limit":
                            "\(OutputBudget.linesPerSecond) lines or \(OutputBudget.bytesPerSecond) logged bytes a second",
                    ])
            }
        }
        return verdict == .write
    }

    /// - Returns: how long to stop reading the worker's output; nil if more may be read.
    func pause(afterReading bytes: Int, lines: Int) -> TimeAmount? {
        guard let pause = output.withLock({ $0.read(bytes, lines: lines, now: now) }) else { return nil }
        if !hasWarnedOfOutput.exchange(true, ordering: .relaxed) {
            logger.warning(
                "the function prints faster than its output is read, and waits",
                metadata: ["output.limit": "\(OutputBudget.bytesPerSecond) bytes a second"])
        }
        return pause
    }

    /// - Returns: how long to stop reading a link that has brought a frame for nothing; nil if more may be read.
    func pause(afterWasting bytes: Int) -> TimeAmount? { output.withLock { $0.waste(bytes, now: now) } }

    /// Writes a line that ``mayWriteLine()`` has admitted.
    func log(_ line: LogLine, execution: String?) {
        var metadata = Logger.Metadata()
        for (key, value) in line.metadata { metadata[shown(key)] = shown(value) }
        // Only the host says these: a function's lines could otherwise be shown as those of another function's call.
        metadata["execution.id"] = execution.map { Logger.MetadataValue.string($0) }
        metadata["worker.id"] = nil
        let level = Logger.Level.allCases[min(Int(line.level), Logger.Level.allCases.count - 1)]
        lineLogger.log(level: level, "\(shown(line.message))", metadata: metadata)
    }

    private func shown(_ value: LogValue) -> Logger.MetadataValue {
        switch value {
        case .text(let text): .string(shown(text))
        case .number(let number): .stringConvertible(number)
        case .list(let values): .array(values.map { shown($0) })
        case .members(let members):
            .dictionary(Dictionary(members.map { (shown($0.key), shown($0.value)) }) { $1 })
        }
    }

    /// A logged text without secrets, truncated to the maximum length.
    private func shown(_ text: String) -> String {
        let text = LogLine.cut(text)
        let filter = launch.secretFilter
        return LogLine.beginning(ofCut: text).map { filter.filtered(beginning: $0) + "…" } ?? filter.filtered(text)
    }
}
