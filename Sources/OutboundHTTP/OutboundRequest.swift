/// An HTTP request to another service, and the bounds of its exchange.
package struct OutboundRequest: Sendable {
    /// An `http` or `https` URL. It may hold a secret, so no error repeats more of it than the host.
    package var address: String
    package var headers: [String: String]
    package var body: [UInt8]?
    /// Nil for a POST if there is a body, and otherwise a GET.
    package var method: String?
    var verb: String { method ?? (body == nil ? "GET" : "POST") }
    package var limits: OutboundLimits
    /// Which part of the response the caller needs.
    package var need: Need
    /// Reserves memory before the response's body grows to this many bytes; false ends the exchange.
    ///
    /// Called under a lock of the client, and never after the exchange has ended: what it reserves can be given back
    /// once `send` has returned.
    package var reserve: (@Sendable (_ bytes: Int) -> Bool)?
    /// Receives the body of a response with status 200 as it arrives, which isn't collected then; returns whether more
    /// is wanted.
    ///
    /// Called for one piece after the other, and perhaps for one more once the exchange has ended. Other exchanges wait
    /// meanwhile: it is called on an event loop.
    package var receive: (@Sendable (_ bytes: [UInt8]) -> Bool)?

    package enum Need: Hashable, Sendable {
        /// An exchange that breaks off fails.
        case wholeResponse
        /// The exchange succeeds once the head has arrived, even if the body doesn't arrive.
        case status
    }

    package init(
        to address: String, headers: [String: String] = [:], body: [UInt8]? = nil, method: String? = nil,
        limits: OutboundLimits,
        need: Need = .wholeResponse, reserve: (@Sendable (_ bytes: Int) -> Bool)? = nil
    ) {
        self.address = address
        self.headers = headers
        self.body = body
        self.method = method
        self.limits = limits
        self.need = need
        self.reserve = reserve
    }
}

/// The bounds of one exchange.
package struct OutboundLimits: Hashable, Sendable {
    /// Bytes of the response's body.
    package var maxBytes: Int
    /// The longest time without a byte of the response, counted from the start of the exchange.
    package var silence: Duration
    /// The longest time that the whole exchange may take, however steadily bytes arrive.
    package var whole: Duration

    /// - Parameter silence: nil if only the whole exchange is bounded.
    package init(maxBytes: Int, silence: Duration? = nil, whole: Duration) {
        self.maxBytes = maxBytes
        self.silence = silence ?? whole
        self.whole = whole
    }
}
