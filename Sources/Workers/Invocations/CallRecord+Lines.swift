import DocumentModel
import HostProcess
import Logging
import NIOCore
import StrictJSON
import WorkerProtocol

extension CallRecord {
    /// The wall clock's time of the end.
    ///
    /// - Parameters:
    ///   - loopNow: The loop's time at the wall clock's `now`.
    func time(_ loopNow: NIODeadline, _ now: Timestamp) -> Timestamp {
        Timestamp(microseconds: now.microseconds - (loopNow - ended).nanoseconds / 1000)
    }

    /// A wait below this isn't worth a field.
    private static let longWait = TimeAmount.milliseconds(10)

    fileprivate var longWait: TimeAmount? { wait.flatMap { $0 > Self.longWait ? $0 : nil } }
}

// Two lines are formatted for each call: these are what LogRecord's would be, without its dictionaries.
extension CallRecord {
    /// Appends ``LogRecord/text`` of the call, and a line break.
    func writeText(to text: inout [UInt8], at time: Timestamp) {
        time.wholeMilliseconds.writeRFC3339(to: &text)
        text += status.isFailure ? " warning ".utf8 : " info ".utf8
        text += function.utf8
        text += ": ".utf8
        if let request {
            text += LogRecord.line(request.method).utf8
            text.append(UInt8(ascii: " "))
            text += LogRecord.line(request.path).utf8
            text += ": ".utf8
        }
        text += status.description.utf8
        text += " duration=".utf8
        duration.write(to: &text)
        text += " execution.id=".utf8
        text += LogRecord.line(executionID).utf8
        if let user {
            text += " uid=".utf8
            text += LogRecord.line(user).utf8
        }
        if let longWait {
            text += " wait=".utf8
            longWait.write(to: &text)
        }
        text.append(UInt8(ascii: "\n"))
    }

    /// Appends ``LogRecord/json`` of the call, and a line break.
    func write(to writer: inout JSONWriter, at time: Timestamp) {
        writer.raw("{\"time\":")
        writer.string(time.wholeMilliseconds.rfc3339)
        writer.raw(status.isFailure ? ",\"severity\":\"warning\"" : ",\"severity\":\"info\"")
        writer.raw(",\"function\":")
        writer.string(function)
        writer.raw(",\"message\":\"call\",\"execution\":")
        writer.string(executionID)
        writer.raw(",\"fields\":{\"duration.ms\":")
        writer.double(duration.milliseconds)
        if let request {
            writer.raw(",\"method\":")
            writer.string(LogLine.cut(request.method))
            writer.raw(",\"path\":")
            writer.string(LogLine.cut(request.path))
        }
        writer.raw(",\"status\":")
        writer.string(status.description)
        if let user {
            writer.raw(",\"uid\":")
            writer.string(LogLine.cut(user))
        }
        if let longWait {
            writer.raw(",\"wait.ms\":")
            writer.double(longWait.milliseconds)
        }
        writer.raw("}}\n")
    }
}

extension LogRecord {
    /// - Parameter time: ``CallRecord/time(_:_:)``.
    init(_ call: CallRecord, at time: Timestamp) {
        var fields: [String: LogValue] = [
            CallField.status: .text("\(call.status)"), CallField.duration: .number(call.duration.milliseconds),
        ]
        if let wait = call.longWait { fields[CallField.wait] = .number(wait.milliseconds) }
        fields[CallField.user] = call.user.map { .text($0) }
        if let request = call.request {
            fields[CallField.method] = .text(request.method)
            fields[CallField.path] = .text(request.path)
        }
        self.init(
            time: time, level: call.status.isFailure ? .warning : .info, function: call.function,
            message: Self.callMessage, execution: call.executionID, fields: fields)
    }
}

extension TimeAmount {
    private var microseconds: Int64 { max(0, nanoseconds / 1000) }

    /// With microseconds.
    fileprivate var milliseconds: Double { Double(microseconds) / 1000 }

    /// Appends the milliseconds with three decimals: `3.207 ms`.
    fileprivate func write(to text: inout [UInt8]) {
        text += (microseconds / 1000).description.utf8
        text.append(UInt8(ascii: "."))
        for divisor: Int64 in [100, 10, 1] { text.append(UInt8(48 + microseconds / divisor % 10)) }
        text += " ms".utf8
    }
}
