import Foundation
import Logging

/// One line a message on standard error: time, level, part, message, metadata.
struct ConsoleLogHandler: LogHandler {
    private let label: String
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    init(label: String) { self.label = label }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    func log(event: LogEvent) {
        let all = self.metadata.merging(event.metadata ?? [:]) { _, new in new }
        let time = Date.now.formatted(.iso8601.time(includingFractionalSeconds: true).dateTimeSeparator(.standard))
        var text = "\(time) \(event.level) \(label): \(event.message)"
        for (key, value) in all.sorted(by: { $0.key < $1.key }) { text += " \(key)=\(value)" }
        FileHandle.standardError.write(Data((text + "\n").utf8))
    }
}
