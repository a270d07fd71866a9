import CFunctionsSystem
package import DocumentModel
package import Foundation
import Synchronization

/// The files that a host keeps its log in: lines of JSON in numbered segments, of which the oldest are deleted.
///
/// Nothing is synced: what was logged in the last seconds before the machine lost power may be missing.
///
/// Used by the thread of one ``LogWriter``.
package final class LogFiles: LogDestination, @unchecked Sendable {
    /// How much of the log is kept; the older part of what exceeds one of them is deleted.
    package struct Limits: Hashable, Sendable {
        package var bytes = 64 << 20
        package var age: Duration = .seconds(14 * 86_400)
        /// Each start of a host begins a file.
        package var files = 1000

        package init() {}
    }

    /// The log's place below a data directory.
    package static func directory(in data: String) -> String { data + "/logs" }

    private let now: @Sendable () -> Timestamp
    private let place = Mutex<Place?>(nil)
    // Everything below is used on the writer's thread.
    private var current: Place?
    private var segment: (number: Int, file: FileHandle, bytes: Int, began: Timestamp)?
    /// The number of the segment that was begun last.
    private var lastNumber = 0
    private var checked: Timestamp?
    /// Whether the segment may end within a line.
    private var isTorn = false

    private struct Place: Equatable {
        var directory: String
        var limits: Limits
    }

    package init(now: @escaping @Sendable () -> Timestamp) { self.now = now }

    /// Lines are written into this directory from now on; before the first call they are lost.
    ///
    /// - Throws: if the directory can't be created, or no file in it: nothing would say so later.
    package func open(_ directory: String, limits: Limits) throws {
        try Self.makeDirectory(directory)
        guard access(directory, W_OK | X_OK) == 0 || errno != EACCES else {
            throw HostError(
                "the log can't be written, because \(directory) belongs to another user; give it to the host's: "
                    + "chown -R \(geteuid()) \(directory)")
        }
        place.withLock { $0 = Place(directory: directory, limits: limits) }
    }

    /// Lines are lost from now on.
    package func close() { place.withLock { $0 = nil } }

    /// Creates the directory if it is missing, but none above it: the data directory may have been deleted.
    private static func makeDirectory(_ directory: String) throws {
        guard access(directory, F_OK) != 0 else { return }
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        // Root may start the host of another user once, who goes on with the log.
        _ = functions_give_path_to_owner(directory, (directory as NSString).deletingLastPathComponent)
    }

    /// - Parameter lines: complete lines.
    package func append(_ lines: Data) throws {
        guard let place = place.withLock({ $0 }) else { return }
        if place != current { (segment, lastNumber) = (nil, 0) }
        current = place
        let (directory, limits) = (place.directory, place.limits)
        // An operator may have deleted it.
        if let open = segment, access(LogSegment(directory: directory, number: open.number).path, F_OK) != 0,
            errno == ENOENT
        {
            segment = nil
        }
        let time = now()
        // Also by time, so that a quiet host's old lines can be deleted.
        let isOld = segment.map { time.seconds(since: $0.began) >= max(60, limits.age.seconds / 8) } ?? true
        if isOld || (segment?.bytes ?? 0) >= max(limits.bytes / 16, 65_536) {
            segment = nil
            try Self.makeDirectory(directory)
            // Higher than that of a deleted one, too, which a reader may have open.
            let number = max(lastNumber, LogSegment.all(in: directory).last?.number ?? 0) + 1
            let path = LogSegment(directory: directory, number: number).path
            guard FileManager.default.createFile(atPath: path, contents: nil, attributes: [.posixPermissions: 0o600]),
                let file = FileHandle(forWritingAtPath: path)
            else { throw HostError("the log file \(path) can't be created") }
            _ = functions_give_path_to_owner(path, directory)
            segment = (number, file, 0, time)
            lastNumber = number
            checked = nil
            isTorn = false
        }
        let wasTorn = isTorn
        // A full disk has room for the beginning of a line, which must not become that of the next one.
        isTorn = true
        try segment?.file.write(contentsOf: wasTorn ? Data("\n".utf8) + lines : lines)
        isTorn = false
        segment?.bytes += lines.count
        if checked.map({ time.seconds(since: $0) > 600 }) ?? true {
            checked = time
            deleteOld(in: directory, limits, time)
        }
    }

    private func deleteOld(in directory: String, _ limits: Limits, _ time: Timestamp) {
        var total = 0
        for (index, old) in LogSegment.all(in: directory).reversed().enumerated() {
            guard let (bytes, changed) = old.status else { continue }
            total += bytes
            guard old.number != segment?.number else { continue }
            if index >= limits.files || total > limits.bytes || time.seconds(since: changed) > limits.age.seconds {
                try? FileManager.default.removeItem(atPath: old.path)
            }
        }
    }
}

/// One file of the log.
struct LogSegment: Hashable {
    let directory: String
    let number: Int

    var path: String {
        let digits = String(number)
        return directory + "/" + String(repeating: "0", count: max(0, 8 - digits.count)) + digits + Self.suffix
    }

    private static let suffix = ".jsonl"

    /// All segments, in order.
    static func all(in directory: String) -> [LogSegment] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.compactMap { name in
            guard name.hasSuffix(suffix), let number = Int(name.dropLast(suffix.count)) else { return nil }
            return LogSegment(directory: directory, number: number)
        }.sorted { $0.number < $1.number }
    }

    /// Its size and the time of its last change; nil if it is gone.
    var status: (bytes: Int, changed: Timestamp)? {
        guard let attributes = try? FileManager.default.attributesOfItem(atPath: path),
            let size = attributes[.size] as? NSNumber, let changed = attributes[.modificationDate] as? Date
        else { return nil }
        return (size.intValue, Timestamp(microseconds: Int64(changed.timeIntervalSince1970 * 1_000_000)))
    }
}

extension Duration {
    var seconds: Double { Double(components.seconds) + Double(components.attoseconds) / 1e18 }
}
