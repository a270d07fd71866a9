import RealtimeModel

/// The bounds of one connection.
package struct RealtimeConnectionLimits: Hashable, Sendable {
    package var listens = 10_000
    /// The bytes of a client's message.
    package var messageBytes = RealtimeLimits.maxSocketWriteBytes
    /// Requests that wait for earlier ones. Beyond it, reading pauses: clients send all their offline writes at once.
    package var waitingRequests = 1_000
    /// The bytes of messages whose requests wait. Beyond it, reading pauses.
    package var waitingBytes = RealtimeLimits.maxSocketWriteBytes
    /// The bytes of pushes that a client hasn't read yet, and of those that are kept because they passed one get that isn't answered.
    /// Beyond either the connection closes, and the client comes back with the hashes of what it has. Initial data and gets don't
    /// count: they are read as the client takes them.
    package var unreadPushBytes = 4 * 1024 * 1024
    /// The bytes of answers that a client hasn't read yet. Beyond it, reading pauses.
    package var unreadAnswerBytes = 256 * 1024
    /// The bytes of values that were read and that the client hasn't taken. Beyond it nothing more is read for it.
    package var waitingValueBytes = 1024 * 1024
    /// Reads under way together.
    package var concurrentReads = 16
    /// Writes under way together.
    package var concurrentWrites = 32
    /// Seconds without a byte from the client after which it is sent a ping, if it answers pings.
    package var pingSeconds = 50
    /// Seconds without a byte from the client after which it is taken for dead.
    package var silenceSeconds = 90

    package init() {}
}
