public import FunctionsRuntime

/// What became of one try to tell a function of an event.
public struct TestDelivery: Sendable, CustomStringConvertible {
    public enum Outcome: Hashable, Sendable {
        case succeeded
        /// It failed, and is tried again at a time.
        case retried(at: Timestamp)
        /// It failed for the last time, and is kept as a dead letter.
        case dead
        /// It failed, and the function's options don't ask for another try.
        case dropped
    }

    public let function: String
    /// The delivery's id, as the handler sees it in ``DocumentEvent/deliveryID`` and its kin.
    public let eventID: String
    /// 1 the first time.
    public let attempt: Int
    public let outcome: Outcome
    /// What the handler threw.
    public let error: (any Error)?

    public var description: String {
        let end =
            switch outcome {
            case .succeeded: "succeeded"
            case .retried(let time): "failed, and is tried again at \(time)"
            case .dead: "failed for the last time"
            case .dropped: "failed, and is not tried again"
            }
        return "\(function), try \(attempt) of \(eventID), \(end)" + (error.map { ": \($0)" } ?? "")
    }
}

/// The tries that failed while events were delivered.
public struct TestDeliveryError: Error, CustomStringConvertible {
    public let failures: [TestDelivery]

    public var description: String { failures.map(\.description).joined(separator: "\n") }
}
