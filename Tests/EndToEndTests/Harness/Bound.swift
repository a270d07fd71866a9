import NIOCore
import NIOPosix

/// Waits for facts that nobody announces, such as a process that is gone, and gives up after a bound.
enum Bound {
    struct Exceeded: Error, CustomStringConvertible {
        var description: String
    }

    private static let interval: Int64 = 10

    /// Looks until the fact is there.
    /// - Throws: ``Exceeded`` that names the fact, where it isn't there in time.
    static func wait(
        _ fact: String, within limit: Duration = .seconds(60), until isThere: () async throws -> Bool
    ) async throws {
        let end = ContinuousClock.now + limit
        while try await !isThere() {
            guard ContinuousClock.now < end else { throw Exceeded(description: "not within \(limit): \(fact)") }
            try await pause(milliseconds: interval)
        }
    }

    /// A look at a fact costs; this lies between two.
    static func pause(milliseconds: Int64) async throws {
        try await MultiThreadedEventLoopGroup.singleton.next().scheduleTask(in: .milliseconds(milliseconds)) {}
            .futureResult.get()
    }
}
