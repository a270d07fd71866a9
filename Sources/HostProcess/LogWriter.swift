package import Foundation

/// Where a ``LogWriter`` writes.
package protocol LogDestination {
    func append(_ lines: Data) throws
}

extension FileHandle: LogDestination {
    package func append(_ lines: Data) throws { try FileOutput.append(lines, to: self) }
}

/// Writes log lines to standard error, or another destination, on a thread of its own.
///
/// Logging never blocks on a slow reader of the log: lines beyond the limit are dropped and counted.
///
/// `@unchecked Sendable`: `condition` protects all variables.
package final class LogWriter: @unchecked Sendable {
    private static let maxPendingBytes = 4 * 1024 * 1024

    private let destination: any LogDestination
    private let notice: @Sendable (_ dropped: Int) -> String
    private enum Part {
        case line(String)
        /// Lines that are made on the writer's thread.
        case deferred(@Sendable () -> [UInt8])
    }

    private let condition = NSCondition()
    private var pending: [Part] = []
    private var pendingBytes = 0
    private var dropped = 0
    private var isWriting = false
    private var isStarted = false

    /// - Parameter notice: formats the line that says how many lines were dropped.
    package init(
        to destination: any LogDestination = FileHandle.standardError,
        notice: @escaping @Sendable (_ dropped: Int) -> String = { "\(LogWriter.message(dropped: $0))\n" }
    ) {
        self.destination = destination
        self.notice = notice
    }

    package static func message(dropped: Int) -> String {
        "\(dropped) log lines were dropped: the log is not read fast enough"
    }

    /// Starts the thread; again does nothing.
    package func start() {
        condition.lock()
        defer { condition.unlock() }
        guard !isStarted else { return }
        isStarted = true
        Thread {
            // A name that is set before the start isn't the system's on Linux.
            Thread.current.name = "log"
            self.run()
        }.start()
    }

    package func write(_ line: String) { add(.line(line), bytes: line.utf8.count, lines: 1) }

    /// Writes lines that are made on the writer's thread.
    ///
    /// - Parameter lines: their number, and about how many bytes they have.
    package func write(lines: Int, bytes: Int, _ make: @escaping @Sendable () -> [UInt8]) {
        add(.deferred(make), bytes: bytes, lines: lines)
    }

    private func add(_ part: Part, bytes: Int, lines: Int) {
        condition.lock()
        defer { condition.unlock() }
        guard pendingBytes < Self.maxPendingBytes else {
            dropped += lines
            return
        }
        if dropped > 0 {
            pending.append(.line(notice(dropped)))
            dropped = 0
        }
        pending.append(part)
        pendingBytes += bytes
        condition.signal()
    }

    /// Waits until all lines are written, for at most a second. Before the start it doesn't wait: nothing writes them.
    package func flush() {
        let deadline = Date(timeIntervalSinceNow: 1)
        condition.lock()
        defer { condition.unlock() }
        while isStarted, !pending.isEmpty || isWriting {
            guard condition.wait(until: deadline) else { return }
        }
    }

    private func run() {
        condition.lock()
        while true {
            while pending.isEmpty { condition.wait() }
            let parts = pending
            pending = []
            pendingBytes = 0
            isWriting = true
            condition.unlock()
            var lines = Data()
            for part in parts {
                switch part {
                case .line(let line): lines.append(contentsOf: line.utf8)
                case .deferred(let make): lines.append(contentsOf: make())
                }
            }
            // If the log can't be written, its lines are lost and the host goes on.
            try? destination.append(lines)
            condition.lock()
            // Also if nothing is logged for long.
            if dropped > 0 {
                pending.append(.line(notice(dropped)))
                dropped = 0
            }
            isWriting = false
            condition.broadcast()
        }
    }
}
