import NIOCore
import NIOPosix

/// Polls for conditions without a notification, such as the end of a process.
///
/// No wait has a time limit of its own, so that a slow machine takes longer and fails no test. The test's time limit ends
/// what hangs, and the error then names the condition.
enum Bound {
    struct Exceeded: Error, CustomStringConvertible {
        var description: String
    }

    private static let interval: Int64 = 10

    /// Polls until the condition is true.
    /// - Throws: ``Exceeded`` with the name of the condition if the test's time limit is reached.
    static func wait(_ condition: @autoclosure () -> String, until isTrue: () async throws -> Bool) async throws {
        while try await !isTrue() {
            guard !Task.isCancelled else {
                throw Exceeded(description: "the time limit came before this: \(condition())")
            }
            try await pause(milliseconds: interval)
        }
    }

    /// Waits between two polls, which cost time.
    static func pause(milliseconds: Int64) async throws {
        try await MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(milliseconds)) {}
            .futureResult.get()
    }
}
