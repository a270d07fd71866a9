/// Carries requests to services elsewhere over HTTP.
package protocol ServiceTransport: Sendable {
    /// - Throws: where there is no answer, or one beyond its bounds.
    func send(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceAnswer
}

/// One request, and the bounds of its answer.
package struct ServiceRequest: Sendable {
    var address: String
    var headers: [String: String]
    /// Sent as POST; nil for a GET.
    var body: [UInt8]?
    var maxBytes: Int
    /// Seconds for all of it.
    var timeout: Double
    /// Where the answer is held; nil for one that is small.
    var room: AnswerRoom?
    /// Whether the same may be asked for once more.
    var isRepeatable = true
}

package struct ServiceAnswer: Hashable, Sendable {
    var status: Int
    var body: [UInt8]
}

/// Why there is no answer.
package struct ServiceFailure: Error, Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// The service has seen nothing of the request.
        case notSent
        /// It may have seen it, and done what was asked.
        case lost
        case timedOut
        case tooLarge
        /// There is no room for what has come of it.
        case noRoom
        /// Nobody waits for it any more.
        case cancelled
    }

    var kind: Kind
    var message: String
}
