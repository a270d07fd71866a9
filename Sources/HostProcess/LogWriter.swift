package import Foundation

/// Writes log lines to standard error, or another file, on a thread of its own.
///
/// Logging never blocks on a slow reader of the log: lines beyond the limit are dropped and counted.
///
/// `@unchecked Sendable`: `condition` protects all variables.
package final class LogWriter: @unchecked Sendable {
    private static let maxPendingBytes = 4 * 1024 * 1024

    private let destination: FileHandle
    private let notice: @Sendable (_ dropped: Int) -> String
    private let condition = NSCondition()
    private var pending = Data()
    private var dropped = 0
    private var isWriting = false

    /// - Parameter notice: formats the line that says how many lines were dropped.
    package init(
        to destination: FileHandle = .standardError,
        notice: @escaping @Sendable (_ dropped: Int) -> String = { "\(LogWriter.message(dropped: $0))\n" }
    ) {
        self.destination = destination
        self.notice = notice
    }

    package static func message(dropped: Int) -> String {
        "\(dropped) log lines were dropped: the log is not read fast enough"
    }

    package func start() {
        let thread = Thread { self.run() }
        thread.name = "log"
        thread.start()
    }

    package func write(_ line: String) {
        condition.lock()
        defer { condition.unlock() }
        guard pending.count < Self.maxPendingBytes else {
            dropped += 1
            return
        }
        if dropped > 0 {
            pending.append(contentsOf: notice(dropped).utf8)
            dropped = 0
        }
        pending.append(contentsOf: line.utf8)
        condition.signal()
    }

    /// Waits until all lines are written, for at most a second.
    package func flush() {
        let deadline = Date(timeIntervalSinceNow: 1)
        condition.lock()
        defer { condition.unlock() }
        while !pending.isEmpty || isWriting {
            guard condition.wait(until: deadline) else { return }
        }
    }

    private func run() {
        condition.lock()
        while true {
            while pending.isEmpty { condition.wait() }
            let lines = pending
            pending = Data()
            isWriting = true
            condition.unlock()
            // If the log can't be written, its lines are lost and the host goes on.
            try? destination.write(contentsOf: lines)
            condition.lock()
            isWriting = false
            condition.broadcast()
        }
    }
}
