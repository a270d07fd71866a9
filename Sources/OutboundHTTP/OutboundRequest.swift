/// An HTTP request to another service, and the bounds of its exchange.
package struct OutboundRequest: Sendable {
    /// An `http` or `https` URL. It may hold a secret, so no error repeats more of it than the host.
    package var address: String
    package var headers: [String: String]
    /// The body of a POST; nil for a GET.
    package var body: [UInt8]?
    package var limits: OutboundLimits
    /// Which part of the response the caller needs.
    package var need: Need
    /// Reserves memory before the response's body grows to this many bytes; false ends the exchange.
    ///
    /// Called under a lock of the client, and never after the exchange has ended: what it reserves can be given back
    /// once `send` has returned.
    package var reserve: (@Sendable (_ bytes: Int) -> Bool)?

    package enum Need: Hashable, Sendable {
        /// An exchange that breaks off fails.
        case wholeResponse
        /// The exchange succeeds once the head has arrived, even if the body doesn't arrive.
        case status
    }

    package init(
        to address: String, headers: [String: String] = [:], body: [UInt8]? = nil, limits: OutboundLimits,
        need: Need = .wholeResponse, reserve: (@Sendable (_ bytes: Int) -> Bool)? = nil
    ) {
        self.address = address
        self.headers = headers
        self.body = body
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
