import NIOCore
import NIOPosix

/// Polls for conditions without a notification, such as the end of a process, up to a time limit.
enum Bound {
    struct Exceeded: Error, CustomStringConvertible {
        var description: String
    }

    private static let interval: Int64 = 10

    /// Polls until the condition is true.
    /// - Throws: ``Exceeded`` with the name of the condition if the time limit is reached.
    static func wait(
        _ condition: String, within limit: Duration = .seconds(60), until isTrue: () async throws -> Bool
    ) async throws {
        let end = ContinuousClock.now + limit
        while try await !isTrue() {
            guard ContinuousClock.now < end else { throw Exceeded(description: "not within \(limit): \(condition)") }
            try await pause(milliseconds: interval)
        }
    }

    /// Waits between two polls, which cost time.
    static func pause(milliseconds: Int64) async throws {
        try await MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(milliseconds)) {}
            .futureResult.get()
    }
}
