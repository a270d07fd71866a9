/// A value that the server computes when it commits a write.
package enum RealtimeServerValue: Hashable, Sendable {
    /// The commit's time, in milliseconds since 1970. It is the same for a whole write.
    case timestamp
    /// The number before the write and this one, or this one if there is no number.
    case increment(RealtimeNumber)

    /// - Parameters:
    ///   - now: milliseconds since 1970.
    ///   - existing: the value before the write.
    package func resolved(now: Int64, existing: RealtimeLeaf?) -> RealtimeLeaf {
        switch self {
        case .timestamp: return .number(RealtimeNumber(now))
        case .increment(let number):
            guard case .number(let existing)? = existing else { return .number(number) }
            return .number(existing + number)
        }
    }
}
