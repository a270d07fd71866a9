import Logging
import WorkerProtocol

/// Sends log lines over the link: those of a handler's own logger with its invocation, others with the invocation
/// their task works for, where it works for one.
struct InvocationLogHandler: LogHandler {
    private let label: String
    private let invocation: WorkerInvocation?
    private let fallback: LinkSet?
    var metadata: Logger.Metadata = [:]
    var logLevel: Logger.Level = .info

    init(label: String, invocation: WorkerInvocation) {
        self.label = label
        self.invocation = invocation
        self.fallback = nil
    }

    init(label: String, fallback: LinkSet) {
        self.label = label
        self.invocation = nil
        self.fallback = fallback
    }

    subscript(metadataKey key: String) -> Logger.Metadata.Value? {
        get { metadata[key] }
        set { metadata[key] = newValue }
    }

    /// A line has a bound, so that one text can't fill the link.
    private static func cut(_ text: String) -> String {
        text.utf8.count <= 16_384 ? text : String(decoding: text.utf8.prefix(16_384), as: UTF8.self) + "…"
    }

    func log(event: LogEvent) {
        var all = self.metadata.merging(event.metadata ?? [:]) { _, new in new }
        if let error = event.error { all["error"] = "\(error)" }
        let line = LogLine(
            level: UInt8(Logger.Level.allCases.firstIndex(of: event.level) ?? 2), label: label,
            message: Self.cut("\(event.message)"),
            metadata: all.mapValues { Self.cut("\($0)") })
        if let invocation {
            invocation.log(line)
        } else if let transport = InvocationContext.current?.transport as? LinkTransport {
            transport.invocation.log(line)
        } else {
            fallback?.first?.sendLog(line, invocation: 0)
        }
    }
}
