package import Logging
import Synchronization

/// What was logged, each line with its metadata in the order of their names.
package final class LogLines: Sendable {
    private let lines = Mutex<[String]>([])

    package init() {}

    package var all: [String] { lines.withLock { $0 } }

    package var logger: Logger { Logger(label: "test") { _ in Handler(log: self) } }

    private struct Handler: LogHandler {
        let log: LogLines
        var metadata: Logger.Metadata = [:]
        var logLevel = Logger.Level.info

        subscript(metadataKey key: String) -> Logger.Metadata.Value? {
            get { metadata[key] }
            set { metadata[key] = newValue }
        }

        func log(event: LogEvent) {
            let metadata = metadata.merging(event.metadata ?? [:]) { $1 }.sorted { $0.key < $1.key }.map {
                " \($0.key)=\($0.value)"
            }
            log.lines.withLock { $0.append("\(event.message)" + metadata.joined()) }
        }
    }
}
