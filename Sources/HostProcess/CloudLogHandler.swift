import DocumentModel
import StrictJSON
import WorkerProtocol
package import Logging

/// Logs in the JSON format of Google Cloud Logging, one line a message: severity, message, and metadata as labels.
package struct CloudLogHandler: LogHandler {
    private let label: String
    private let writer: LogWriter
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level = .info

    package init(label: String, writer: LogWriter) {
        self.label = label
        self.writer = writer
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        var all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        if let error = event.error { all["error"] = "\(error)" }
        writer.write(
            Self.line(
                event.level, "\(event.message)", all.mapValues { "\($0)" }, logger: label, time: Timestamp.wallClock()))
    }

    /// - Parameter logger: the part of the program, or the function, that logs.
    static func line(
        _ level: Logger.Level, _ message: String, _ metadata: [String: String], logger: String, time: Timestamp
    ) -> String {
        var text = JSONWriter()
        text.raw("{")
        text.key("severity")
        text.string(severity(level))
        text.raw(",")
        text.key("time")
        text.string("\(time)")
        text.raw(",")
        text.key("message")
        text.string(LogLine.cut(message))
        text.raw(",")
        text.key("logging.googleapis.com/labels")
        text.raw("{")
        text.list(labels(metadata, logger: logger, within: maxEntry - text.bytes.count)) { text, label in
            text.key(label.key)
            text.string(label.value)
        }
        text.raw("}}\n")
        return String(decoding: text.bytes, as: UTF8.self)
    }

    /// Formats a record, with its fields as labels.
    package static func line(_ record: LogRecord) -> String {
        var labels = record.fields.mapValues(\.shown)
        labels[LogRecord.executionKey] = record.execution
        return line(
            record.level, record.message, labels, logger: record.function ?? LogRecord.hostLabel, time: record.time)
    }

    /// Formats a line of the host for places without a logger: before the start, and the notice about dropped lines.
    package static func line(_ level: Logger.Level, _ message: String) -> String {
        line(level, message, [:], logger: "host", time: Timestamp.wallClock())
    }

    /// Cloud Logging accepts 256 KiB per entry, including what it adds itself. It splits a longer line in two, of which
    /// neither is valid JSON.
    private static let maxEntry = 240 * 1024
    /// The limit of Cloud Logging.
    private static let maxLabels = 64

    /// The logger's name and as much of the metadata as the limits allow, in the order of keys.
    private static func labels(
        _ metadata: [String: String], logger: String, within limit: Int
    ) -> [(key: String, value: String)] {
        var labels = [(key: "logger", value: LogLine.cut(metadata["logger"] ?? logger))]
        var bytes = length(labels[0].key, labels[0].value)
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) where key != "logger" {
            let label = (key: LogLine.cut(key), value: LogLine.cut(value))
            bytes += length(label.key, label.value)
            guard labels.count < maxLabels, bytes <= limit else { break }
            labels.append(label)
        }
        return labels
    }

    /// The size of a label in JSON, with its quotes and punctuation.
    private static func length(_ key: String, _ value: String) -> Int {
        [key, value].reduce(6) { sum, text in
            text.utf8.reduce(sum) { sum, byte in
                sum + (byte < 0x20 ? 6 : byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") ? 2 : 1)
            }
        }
    }

    private static func severity(_ level: Logger.Level) -> String {
        switch level {
        case .trace, .debug: "DEBUG"
        case .info: "INFO"
        case .notice: "NOTICE"
        case .warning: "WARNING"
        case .error: "ERROR"
        case .critical: "CRITICAL"
        }
    }
}
