package import DocumentModel
package import Logging
package import StrictJSON
package import WorkerProtocol

/// One line of the log, as the host keeps it and as it is printed.
package struct LogRecord: Equatable, Sendable {
    package var time: Timestamp
    package var level: Logger.Level
    /// The function that it is about; nil for the host's own lines.
    package var function: String?
    package var message: String
    package var execution: String?
    package var fields: [String: LogValue]

    package init(
        time: Timestamp, level: Logger.Level, function: String?, message: String, execution: String? = nil,
        fields: [String: LogValue] = [:]
    ) {
        self.time = time.wholeMilliseconds
        self.level = level
        self.function = function
        self.message = message
        self.execution = execution
        self.fields = fields
    }

    /// The label of the host's own loggers.
    package static let hostLabel = "host"
    /// The field of a logger's metadata that names the execution.
    package static let executionKey = "execution.id"
    /// The fields that name a session of a Realtime Database's client: its own, and the one that it continues.
    package static let sessionKeys = ["database.session", "database.former"]

    /// The message of the line about a call, whose fields are those of ``CallField``.
    package static let callMessage = "call"

    /// The fields of the line about a call.
    package enum CallField {
        package static let status = "status"
        package static let duration = "duration.ms"
        package static let wait = "wait.ms"
        package static let user = "uid"
        package static let method = "method"
        package static let path = "path"
    }

    /// A line for people: time, level, function, message, fields.
    package var text: String {
        var (message, all) = isCall ? callText : (message, fields)
        message = Self.line(message)
        all[Self.executionKey] = execution.map { .text($0) }
        var text = "\(time) \(level) \(function ?? Self.hostLabel): \(message)"
        for (key, value) in all.sorted(by: { $0.key < $1.key }) {
            text += " \(Self.line(key))=\(Self.line(value.shown))"
        }
        return text
    }

    /// Functions log no numbers, so that their lines aren't taken for those about calls.
    private var isCall: Bool { message == Self.callMessage && fields[CallField.duration]?.number != nil }

    /// `GET /items/7: 200`, or the status alone, and the other fields: `duration=3.207 ms`.
    private var callText: (message: String, fields: [String: LogValue]) {
        var fields = fields
        func take(_ key: String) -> LogValue? { fields.removeValue(forKey: key) }
        var message = take(CallField.status)?.shown ?? ""
        if let method = take(CallField.method), let path = take(CallField.path) {
            message = "\(method.shown) \(path.shown): \(message)"
        }
        for (key, name) in [(CallField.duration, "duration"), (CallField.wait, "wait")] {
            if let time = take(key)?.number { fields[name] = .text(Self.milliseconds(time)) }
        }
        return (message, fields)
    }

    /// With microseconds: `3.207 ms`.
    private static func milliseconds(_ time: Double) -> String {
        let microseconds = Int64(exactly: (max(0, time) * 1000).rounded()) ?? 0
        let rest = String(microseconds % 1000)
        return "\(microseconds / 1000).\(String(repeating: "0", count: 3 - rest.count))\(rest) ms"
    }

    /// Replaces line breaks and other control characters, so that a function or a client can't forge log lines.
    package static func line(_ text: String) -> String {
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

extension Timestamp {
    /// The log's times have milliseconds.
    package var wholeMilliseconds: Timestamp { Timestamp(microseconds: microseconds - microseconds % 1000) }
}

// MARK: JSON

extension LogRecord {
    /// The record as one line of JSON. Texts are cut as a worker's are.
    package var json: String {
        var writer = JSONWriter(capacity: 192 + message.utf8.count)
        writer.raw("{\"time\":")
        writer.string("\(time)")
        writer.raw(",\"severity\":")
        writer.string(level.rawValue)
        if let function {
            writer.raw(",\"function\":")
            writer.string(function)
        }
        writer.raw(",\"message\":")
        writer.string(LogLine.cut(message))
        if let execution {
            writer.raw(",\"execution\":")
            writer.string(execution)
        }
        if !fields.isEmpty {
            writer.raw(",\"fields\":{")
            writer.list(fields.sorted { $0.key < $1.key }) { writer, field in
                writer.key(LogLine.cut(field.key))
                field.value.write(to: &writer)
            }
            writer.raw("}")
        }
        writer.raw("}")
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// - Throws: if the line isn't a record: the host may have ended while it wrote it.
    package init(json line: [UInt8]) throws(JSONProblem) {
        let node = try JSONNode(parsing: line)
        guard let time = (try node["time"]?.string()).flatMap(Timestamp.init(rfc3339:)),
            let level = (try node["severity"]?.string()).flatMap(Logger.Level.init(rawValue:)),
            let message = try node["message"]?.string()
        else { throw JSONProblem(offset: 0, message: "it isn't a line of the log") }
        var fields: [String: LogValue] = [:]
        for member in try node["fields"]?.members() ?? [] { fields[member.key] = LogValue(member.value) }
        self.init(
            time: time, level: level, function: try node["function"]?.string(), message: message,
            execution: try node["execution"]?.string(), fields: fields)
    }
}

extension LogValue {
    /// For people: a text as it is, other values as JSON.
    var shown: String {
        if let text { return text }
        var writer = JSONWriter()
        write(to: &writer)
        return String(decoding: writer.bytes, as: UTF8.self)
    }

    /// Members are in the order of their names. Texts are cut as a worker's are.
    fileprivate func write(to writer: inout JSONWriter) {
        switch self {
        case .text(let text): writer.string(LogLine.cut(text))
        case .number(let number): if number.isFinite { writer.double(number) } else { writer.null() }
        case .list(let values): writer.array(values) { $1.write(to: &$0) }
        case .members(let members):
            writer.raw("{")
            writer.list(members.sorted { $0.key < $1.key }) { writer, member in
                writer.key(LogLine.cut(member.key))
                member.value.write(to: &writer)
            }
            writer.raw("}")
        }
    }

    fileprivate init(_ node: JSONNode) {
        switch node.kind {
        case .string(let text): self = .text(text)
        case .integer(let number): self = .number(Double(number))
        case .double(let number): self = .number(number)
        case .array(let elements): self = .list(elements.map { LogValue($0) })
        case .object(let members):
            self = .members(Dictionary(members.map { ($0.key, LogValue($0.value)) }) { $1 })
        case .null, .boolean: self = .text(node.summary)
        }
    }

    /// A value of a logger's metadata.
    init(_ value: Logger.MetadataValue) {
        switch value {
        case .string(let text): self = .text(text)
        case .stringConvertible(let value): self = .text("\(value)")
        case .array(let values): self = .list(values.map { LogValue($0) })
        case .dictionary(let members): self = .members(members.mapValues { LogValue($0) })
        }
    }
}
