package import Logging
import Synchronization

/// The log lines of one test.
package final class CapturedLog: Sendable {
    package struct Line: Sendable {
        package let level: Logger.Level
        package let label: String
        package let message: String
        package let metadata: [String: String]
        package let values: Logger.Metadata
    }

    @TaskLocal static var current: CapturedLog?

    private let state = Mutex<[Line]>([])

    package var lines: [Line] { state.withLock { $0 } }

    package func lines(_ message: String) -> [Line] { lines.filter { $0.message == message } }

    fileprivate func add(_ line: Line) { state.withLock { $0.append(line) } }

    /// Once in a process: loggers that are made from now on look for the test that they log for.
    static let isInstalled: Bool = {
        LoggingSystem.bootstrap { CapturingLogHandler(label: $0) }
        return true
    }()
}

/// Hands lines to the test in whose task they are logged, and writes others to standard error as usual.
private struct CapturingLogHandler: LogHandler {
    private let label: String
    private var fallback: StreamLogHandler
    var metadata: Logger.Metadata = [:]
    var logLevel = Logger.Level.debug

    init(label: String) {
        self.label = label
        fallback = StreamLogHandler.standardError(label: label)
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set {
            metadata[key] = newValue
            fallback[metadataKey: key] = newValue
        }
    }

    func log(event: LogEvent) {
        guard let log = CapturedLog.current else {
            if event.level >= .info { fallback.log(event: event) }
            return
        }
        let all = metadata.merging(event.metadata ?? [:]) { $1 }
        log.add(
            CapturedLog.Line(
                level: event.level, label: label, message: "\(event.message)",
                metadata: all.mapValues { "\($0)" }, values: all))
    }
}
