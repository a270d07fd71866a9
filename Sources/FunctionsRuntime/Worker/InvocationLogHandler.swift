import Logging
import WorkerProtocol

/// Sends log lines over the link. Lines of an invocation's logger, and of other loggers in a task that belongs to an
/// invocation, carry the invocation's id.
struct InvocationLogHandler: LogHandler {
    private let label: String
    private let invocation: WorkerInvocation?
    private let fallback: LinkSet?
    var metadata: Logger.Metadata = [:]
    var logLevel = Self.level

    private static let level =
        ProcessControl.environment(WorkerEnvironment.logLevelVariable).flatMap { Logger.Level(rawValue: $0) } ?? .info

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
            message: "\(event.message)", metadata: all.mapValues { LogValue($0) }
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

extension LogValue {
    /// A value of a logger's metadata. Dictionaries and arrays keep their structure, unless they are too large or nested
    /// too deeply: then they are their description.
    init(_ value: Logger.MetadataValue) {
        var room = LogLine.maxText
        self = LogValue(value, depth: 0, room: &room) ?? .text("\(value)")
    }

    /// - Parameter room: How many bytes it may have.
    /// - Returns: nil if it is too large or nested too deeply. A text alone never is: it is cut later.
    private init?(_ value: Logger.MetadataValue, depth: Int, room: inout Int) {
        switch value {
        case .string(let text): self = .text(text)
        case .stringConvertible(let value): self = .text("\(value)")
        case .array(let values):
            var list: [LogValue] = []
            for value in values {
                guard let value = Self.nested(value, depth, &room) else { return nil }
                list.append(value)
            }
            self = .list(list)
        case .dictionary(let values):
            var members: [String: LogValue] = [:]
            for (key, value) in values {
                room -= key.utf8.count
                guard let value = Self.nested(value, depth, &room) else { return nil }
                members[key] = value
            }
            self = .members(members)
        }
    }

    private static func nested(_ value: Logger.MetadataValue, _ depth: Int, _ room: inout Int) -> LogValue? {
        guard depth < maxDepth, let value = LogValue(value, depth: depth + 1, room: &room) else { return nil }
        // The least that a value takes, with its key.
        room -= 8 + (value.text?.utf8.count ?? 0)
        return room >= 0 ? value : nil
    }
}
