public import FunctionsRuntime

/// One attempt to deliver an event to a function, with its outcome.
public struct TestDelivery: Sendable, CustomStringConvertible {
    public enum Outcome: Hashable, Sendable {
        case succeeded
        /// It failed, and will be retried at a time.
        case retried(at: Timestamp)
        /// It failed for the last time, and was dead-lettered.
        case dead
        /// It failed, and the function's options don't request retries.
        case dropped
    }

    public let function: String
    /// The delivery's id, as the handler sees it in `DocumentEvent.deliveryID` and similar.
    public let eventID: String
    /// The number of the attempt, starting with 1.
    public let attempt: Int
    public let outcome: Outcome
    /// What the handler threw.
    public let error: (any Error)?

    public var description: String {
        let end =
            switch outcome {
            case .succeeded: "succeeded"
            case .retried(let time): "failed, will be retried at \(time)"
            case .dead: "failed for the last time, was dead-lettered"
            case .dropped: "failed, will not be retried"
            }
        return "\(function), try \(attempt) of \(eventID), \(end)" + (error.map { ": \($0)" } ?? "")
    }
}

/// The attempts that failed during delivery.
public struct TestDeliveryError: Error, CustomStringConvertible {
    public let failures: [TestDelivery]

    public var description: String { failures.map(\.description).joined(separator: "\n") }
}
