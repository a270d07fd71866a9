import Logging
import DocumentModel

/// The log that a host keeps. Lines wait in memory until the host knows its data directory.
package struct LogArchive: Sendable {
    private let files: LogFiles
    package let writer: LogWriter

    package init() {
        files = LogFiles(now: { .wallClock() })
        writer = LogWriter(to: files) { dropped in
            LogRecord(
                time: .wallClock(), level: .warning, function: nil, message: LogWriter.message(dropped: dropped)
            ).json + "\n"
        }
    }

    /// Writes the lines so far, and all further ones, below a data directory.
    ///
    /// - Throws: if the directory can't be created.
    package func open(in data: String, limits: LogFiles.Limits) throws {
        try files.open(LogFiles.directory(in: data), limits: limits)
        writer.start()
    }

    /// Waits until the lines so far are written, for at most a second, and writes no further ones: their data directory
    /// is about to be deleted.
    package func close() {
        writer.flush()
        files.close()
        // One may have begun in between.
        writer.flush()
    }
}
