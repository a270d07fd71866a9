/// Why there is no response.
package struct OutboundError: Error, Hashable, Sendable, CustomStringConvertible {
    package enum Kind: Hashable, Sendable {
        /// The service hasn't received the request.
        case notSent
        /// The service may have received the request and acted on it.
        case lost
        /// No byte arrived for too long, or the whole exchange took too long.
        case timedOut
        case tooLarge
        /// ``OutboundRequest/reserve`` found no memory for the response.
        case outOfMemory
        /// The caller's task was cancelled.
        case cancelled
    }

    package var kind: Kind
    /// The host and port as in the address.
    package var host: String
    /// Why, in words that hold nothing of the request.
    package var reason: String

    package init(_ kind: Kind, host: String, _ reason: String) {
        self.kind = kind
        self.host = host
        self.reason = reason
    }

    package var description: String { "\(host): \(reason)" }
}
