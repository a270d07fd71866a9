/// One exchange from its start to its end: what has arrived, and what its limits say of it.
///
/// Times are counted on the client's clock, from any fixed instant.
struct Exchange {
    let host: String
    private let request: OutboundRequest
    private let began: Duration
    private var lastByte: Duration
    private var response: OutboundResponse?
    private var hasSent = false
    /// Why the rest of the response is refused.
    private var refusal: OutboundError?

    init(_ request: OutboundRequest, host: String, at now: Duration) {
        self.request = request
        self.host = host
        began = now
        lastByte = now
    }

    /// When the exchange ends unless a byte arrives before.
    var deadline: Duration { min(began + request.limits.whole, lastByte + request.limits.silence) }

    /// - Returns: why the exchange is over at this time; nil if its deadline has moved on.
    func expiry(at now: Duration) -> OutboundError? {
        if now >= began + request.limits.whole {
            return OutboundError(.timedOut, host: host, "the exchange took longer than \(request.limits.whole)")
        }
        guard now >= deadline else { return nil }
        return OutboundError(.timedOut, host: host, "no byte arrived for \(request.limits.silence)")
    }

    /// A part of the request was sent.
    mutating func sent() { hasSent = true }

    /// Whether the request may be sent once more if its connection is closed: the service hasn't received it, or it
    /// changes nothing (RFC 9110, section 9.2.2).
    var isRepeatable: Bool { response == nil && (!hasSent || ["GET", "HEAD"].contains(request.verb)) }

    mutating func receiveHead(status: Int, headers: [String: String], at now: Duration) {
        lastByte = now
        response = OutboundResponse(status: status, headers: headers)
    }

    /// The caller's code that receives bytes which arrive now; nil if they are collected.
    mutating func receiver(at now: Duration) -> (@Sendable ([UInt8]) -> Bool)? {
        guard response?.status == 200, let receive = request.receive else { return nil }
        lastByte = now
        return receive
    }

    /// - Returns: whether more is wanted.
    mutating func receive(_ bytes: some Collection<UInt8>, at now: Duration) -> Bool {
        guard refusal == nil else { return false }
        lastByte = now
        let count = (response?.body.count ?? 0) + bytes.count
        if count > request.limits.maxBytes {
            refusal = OutboundError(
                .tooLarge, host: host, "the response is larger than \(request.limits.maxBytes) bytes")
        } else if request.reserve?(count) == false {
            refusal = OutboundError(.outOfMemory, host: host, "no memory is free for the response")
        } else {
            response?.body.append(contentsOf: bytes)
        }
        return refusal == nil
    }

    /// The outcome of an exchange that ends now.
    ///
    /// - Parameter error: why the connection ended; nil if the response is complete.
    func end(with error: OutboundError?) -> Result<OutboundResponse, OutboundError> {
        if let response, request.need == .status { return .success(response) }
        if var error = refusal ?? error {
            if hasSent || response != nil, error.kind == .notSent { error.kind = .lost }
            return .failure(error)
        }
        guard let response else { return .failure(OutboundError(.lost, host: host, "the response isn't HTTP")) }
        return .success(response)
    }
}
