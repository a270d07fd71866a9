/// Carries requests to services elsewhere over HTTP.
protocol ServiceTransport: Sendable {
    /// - Throws: where there is no answer, or one beyond its bounds.
    func send(_ request: ServiceRequest) async throws(ServiceFailure) -> ServiceAnswer
}

/// One request, and the bounds of its answer.
struct ServiceRequest: Hashable, Sendable {
    var address: String
    var headers: [String: String]
    /// Sent as POST; nil for a GET.
    var body: [UInt8]?
    var maxBytes: Int
    /// Seconds for all of it.
    var timeout: Double
}

struct ServiceAnswer: Hashable, Sendable {
    var status: Int
    var body: [UInt8]
}

/// Why there is no answer.
struct ServiceFailure: Error, Hashable, Sendable {
    enum Kind: Hashable, Sendable {
        /// The service has seen nothing of the request.
        case notSent
        /// It may have seen it, and done what was asked.
        case lost
        case timedOut
        case tooLarge
    }

    var kind: Kind
    var message: String
}
