import DocumentModel
import WorkerProtocol
package import Logging

/// Logs one line a message for people, and into the log that the host keeps.
package struct ConsoleLogHandler: LogHandler {
    private let label: String
    private let writer: LogWriter
    /// Nil if no log is kept.
    private let archive: LogWriter?
    package var metadata: Logger.Metadata = [:]
    package var logLevel: Logger.Level = .info

    package init(label: String, writer: LogWriter, archive: LogWriter? = nil) {
        self.label = label
        self.writer = writer
        self.archive = archive
    }

    package subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    package func log(event: LogEvent) {
        let all = metadata.merging(event.metadata ?? [:]) { _, new in new }
        var fields = all.mapValues { LogValue($0) }
        if let error = event.error { fields["error"] = "\(error)" }
        let execution = fields.removeValue(forKey: LogRecord.executionKey)?.shown
        let record = LogRecord(
            time: Timestamp.wallClock(), level: event.level, function: label == LogRecord.hostLabel ? nil : label,
            message: "\(event.message)", execution: execution, fields: fields)
        writer.write(record.text + "\n")
        archive?.write(record.json + "\n")
    }
}
