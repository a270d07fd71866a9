import Logging
import WorkerProtocol

/// Sends log lines over the link. Lines of an invocation's logger, and of other loggers in a task that belongs to an
/// invocation, carry the invocation's id.
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

    func log(event: LogEvent) {
        var all = self.metadata.merging(event.metadata ?? [:]) { _, new in new }
        if let error = event.error { all["error"] = "\(error)" }
        let line = LogLine(
            level: UInt8(Logger.Level.allCases.firstIndex(of: event.level) ?? 2), label: label,
            message: "\(event.message)", metadata: all.mapValues { "\($0)" }
        ).bounded
        if let invocation {
            invocation.log(line)
        } else if let transport = InvocationContext.current?.transport as? LinkTransport {
            transport.invocation.log(line)
        } else {
            fallback?.first?.sendLog(line, invocation: 0)
        }
    }
}
