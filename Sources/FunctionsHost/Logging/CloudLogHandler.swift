import DocumentModel
import DocumentStore
package import Logging

/// One line of JSON a message, as Google's cloud takes them apart: severity, message, and metadata as labels.
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
                event.level, "\(event.message)", all.mapValues { "\($0)" }, logger: label, time: Timestamp.now()))
    }

    /// - Parameter logger: the part of the program that writes it, or the function.
    static func line(
        _ level: Logger.Level, _ message: String, _ metadata: [String: String], logger: String, time: Timestamp
    ) -> String {
        var text = JSONText()
        text.raw("{")
        text.key("severity")
        text.string(severity(level))
        text.raw(",")
        text.key("time")
        text.string("\(time)")
        text.raw(",")
        text.key("message")
        text.string(message)
        text.raw(",")
        text.key("logging.googleapis.com/labels")
        text.raw("{")
        let labels = metadata.merging(["logger": logger]) { own, _ in own }
        text.list(labels.sorted { $0.key < $1.key }) { text, label in
            text.key(label.key)
            text.string(label.value)
        }
        text.raw("}}\n")
        return String(decoding: text.bytes, as: UTF8.self)
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
