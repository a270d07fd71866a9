package import DocumentModel
import Foundation
package import Logging
import WorkerProtocol

/// Which records of the log are wanted.
package struct LogFilter: Hashable, Sendable {
    package var function: String?
    package var execution: String?
    /// The id of a Realtime Database's session, or its beginning. Lines have the beginning only.
    package var session: String?
    /// The lowest level.
    package var level: Logger.Level = .trace
    package var since: Timestamp?

    package init() {}

    package func matches(_ record: LogRecord) -> Bool {
        if let function, record.function != function { return false }
        if let execution, record.execution != execution { return false }
        if let session, !LogRecord.sessionKeys.contains(where: { Self.isSame(record.fields[$0], session) }) {
            return false
        }
        if let since, record.time < since { return false }
        return record.level >= level
    }

    private static func isSame(_ field: LogValue?, _ session: String) -> Bool {
        guard let shown = field?.text else { return false }
        return session.hasPrefix(shown) || shown.hasPrefix(session)
    }
}

/// Reads the log that a host keeps, whether it runs or not, from the oldest record to the newest.
package struct LogReader {
    private let directory: String
    private let filter: LogFilter
    private var current: (segment: LogSegment, file: FileHandle)?
    private var line: [UInt8] = []
    private var last = 0

    private static let step = 1 << 18
    /// Longer lines aren't the log's.
    private static let maxLine = 4 << 20

    /// - Parameter directory: ``LogFiles/directory(in:)``.
    package init(_ directory: String, _ filter: LogFilter) {
        self.directory = directory
        self.filter = filter
    }

    /// Reads all records that there are, and the next time those that have been added.
    package mutating func read(_ body: (LogRecord) throws -> Void) throws {
        var segments = LogSegment.all(in: directory)
        while true {
            if let (segment, file) = current {
                // Looked for first: the host has written all of a segment when it begins the next.
                if segments.last?.number ?? 0 <= segment.number { segments = LogSegment.all(in: directory) }
                let isWhole = segments.last?.number ?? 0 > segment.number
                try readRest(of: file, body)
                guard isWhole else { return }
                line = []
                current = nil
                last = segment.number
            }
            guard let next = segments.first(where: { $0.number > last }) else { return }
            last = next.number
            // The newest may still grow: a host that was quiet goes on in it.
            if let since = filter.since, next != segments.last, let changed = next.status?.changed, changed < since {
                continue
            }
            // Gone if it was deleted meanwhile.
            guard let file = FileHandle(forReadingAtPath: next.path) else { continue }
            current = (next, file)
        }
    }

    private mutating func readRest(of file: FileHandle, _ body: (LogRecord) throws -> Void) throws {
        while let bytes = try file.read(upToCount: Self.step), !bytes.isEmpty {
            var rest = bytes[...]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                line += rest[..<end]
                rest = rest[(end + 1)...]
                defer { line.removeAll(keepingCapacity: true) }
                if let record = try? LogRecord(json: line), filter.matches(record) { try body(record) }
            }
            line += rest
            if line.count > Self.maxLine { line = [] }
        }
    }
}
