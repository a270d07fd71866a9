import DocumentModel
package import Logging

/// Logs one line a message for people: time, level, label, message, metadata.
package struct ConsoleLogHandler: LogHandler {
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
        // Truncated to milliseconds.
        let now = Timestamp.wallClock().microseconds
        let time = Timestamp(microseconds: now - now % 1000)
        var text = "\(time) \(event.level) \(label): \(Self.line("\(event.message)"))"
        for (key, value) in all.sorted(by: { $0.key < $1.key }) {
            text += " \(Self.line(key))=\(Self.line("\(value)"))"
        }
        writer.write(text + "\n")
    }

    /// Replaces line breaks and other control characters, so that a function or a client can't forge log lines.
    static func line(_ text: String) -> String {
        // C1 and Unicode's line breaks begin with one of these bytes.
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == 0x7F || $0 == 0xC2 || $0 == 0xE2 }) else { return text }
        return String(String.UnicodeScalarView(text.unicodeScalars.map { isControl($0.value) ? " " : $0 }))
    }

    private static func isControl(_ scalar: UInt32) -> Bool {
        switch scalar {
        case 0..<0x20, 0x7F..<0xA0, 0x2028, 0x2029: true
        default: false
        }
    }
}
