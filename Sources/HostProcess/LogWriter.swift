package import Foundation

/// Writes log lines on a thread of its own, to standard error or wherever the log goes.
///
/// Whoever logs never waits for whoever reads the log: lines beyond the bound are dropped, and counted.
///
/// `@unchecked Sendable`: `condition` is held wherever the variables are touched.
package final class LogWriter: @unchecked Sendable {
    private static let maxPendingBytes = 4 * 1024 * 1024

    private let destination: FileHandle
    private let notice: @Sendable (_ dropped: Int) -> String
    private let condition = NSCondition()
    private var pending = Data()
    private var dropped = 0
    private var isWriting = false

    /// - Parameter notice: the line that says how many lines were dropped, in the form of the others.
    package init(
        to destination: FileHandle = .standardError,
        notice: @escaping @Sendable (_ dropped: Int) -> String = { "\(LogWriter.message(dropped: $0))\n" }
    ) {
        self.destination = destination
        self.notice = notice
    }

    package static func message(dropped: Int) -> String {
        "\(dropped) log lines were dropped: nobody reads them fast enough"
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

    /// Waits until everything is written, for a second at the most.
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
            // Where nobody reads it the log is lost, and nothing else.
            try? destination.write(contentsOf: lines)
            condition.lock()
            isWriting = false
            condition.broadcast()
        }
    }
}
