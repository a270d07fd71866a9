import DocumentModel
package import HostProcess
import NIOCore
import StrictJSON
import WorkerProtocol

/// One line for each recorded call, in the log.
package struct CallLog: Sendable {
    private let console: LogWriter
    private let archive: LogWriter?
    private let line: (@Sendable (LogRecord) -> String)?

    /// About how many bytes a line and its record have, without the path.
    private static let lineBytes = 200

    /// - Parameter line: formats a record for the console, with the line break. Default: as ``LogRecord/text``.
    package init(console: LogWriter, archive: LogWriter?, line: (@Sendable (LogRecord) -> String)? = nil) {
        self.console = console
        self.archive = archive
        self.line = line
    }

    /// Formats on the writers' threads: a loop has calls to serve.
    package var recorder: CallRecorder {
        { [console, archive, line] records, loopNow in
            let now = Timestamp.wallClock()
            let bytes = records.reduce(0) { $0 + Self.lineBytes + ($1.request?.path.utf8.count ?? 0) }
            console.write(lines: records.count, bytes: bytes) {
                var lines: [UInt8] = []
                lines.reserveCapacity(bytes)
                for record in records {
                    let time = record.time(loopNow, now)
                    if let line {
                        lines += line(LogRecord(record, at: time)).utf8
                    } else {
                        record.writeText(to: &lines, at: time)
                    }
                }
                return lines
            }
            archive?.write(lines: records.count, bytes: bytes) {
                var writer = JSONWriter(capacity: bytes)
                for record in records { record.write(to: &writer, at: record.time(loopNow, now)) }
                return writer.bytes
            }
        }
    }
}
