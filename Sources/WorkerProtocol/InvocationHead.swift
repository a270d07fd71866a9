package import NIOCore

/// All data of an invocation except the body, which follows in the same frame.
package struct InvocationHead: Equatable, Sendable {
    package var executionID: String
    /// Milliseconds left until the caller gets DEADLINE_EXCEEDED.
    package var timeLeft: UInt32
    package var auth: VerifiedIdentity?
    package var app: VerifiedIdentity?
    /// Whether an earlier call consumed the app's token.
    package var appTokenConsumed = false
    /// The header's key, for functions that aren't transactional.
    package var idempotencyKey: String?
    /// Whether the host keeps the header's key, for functions that are transactional.
    package var hasHostedKey = false
    /// Whether the caller accepts a stream of chunks.
    package var streams: Bool
    package var method: String
    /// The request target after the function's name: `/rest?query`.
    package var target: String
    package var headers: HeaderBlock
    /// The client's address; nil on a Unix socket, and for events.
    package var address: IPAddress?

    /// The subject of a token that the host verified: a user or an app.
    package struct VerifiedIdentity: Equatable, Sendable {
        package var id: String
        /// The token's payload as JSON.
        package var claims: ByteBuffer

        package init(id: String, claims: ByteBuffer) {
            self.id = id
            self.claims = claims
        }
    }

    /// A head without an execution ID, the address and the time left gets them when its invocation is admitted and
    /// started.
    package init(
        executionID: String = "", timeLeft: UInt32 = 0, auth: VerifiedIdentity? = nil, app: VerifiedIdentity? = nil,
        streams: Bool = false, method: String = "POST", target: String = "/", headers: HeaderBlock = HeaderBlock([]),
        address: IPAddress? = nil
    ) {
        self.executionID = executionID
        self.timeLeft = timeLeft
        self.auth = auth
        self.app = app
        self.streams = streams
        self.method = method
        self.target = target
        self.headers = headers
        self.address = address
    }

    package func write(to buffer: inout ByteBuffer) {
        buffer.writeText(executionID)
        buffer.writeInteger(timeLeft)
        for identity in [auth, app] {
            buffer.writeInteger(UInt8(identity == nil ? 0 : 1))
            if let identity {
                buffer.writeText(identity.id)
                buffer.writeBlob(identity.claims.readableBytesView)
            }
        }
        buffer.writeInteger(UInt8(appTokenConsumed ? 1 : 0))
        buffer.writeInteger(UInt8(hasHostedKey ? 1 : 0))
        buffer.writeInteger(UInt8(idempotencyKey == nil ? 0 : 1))
        if let idempotencyKey { buffer.writeText(idempotencyKey) }
        buffer.writeInteger(UInt8(streams ? 1 : 0))
        buffer.writeText(method)
        buffer.writeText(target)
        buffer.writeBlob(headers.encoded.readableBytesView)
        buffer.writeInteger(UInt8(address == nil ? 0 : 1))
        if let address { buffer.writeMultipleIntegers(address.high, address.low) }
    }

    package init(from buffer: inout ByteBuffer) throws(ProtocolViolation) {
        executionID = try buffer.readText()
        timeLeft = try buffer.read(UInt32.self)
        func identity() throws(ProtocolViolation) -> VerifiedIdentity? {
            guard try buffer.read(UInt8.self) != 0 else { return nil }
            return VerifiedIdentity(id: try buffer.readText(), claims: try buffer.readBlob())
        }
        auth = try identity()
        app = try identity()
        appTokenConsumed = try buffer.read(UInt8.self) != 0
        hasHostedKey = try buffer.read(UInt8.self) != 0
        idempotencyKey = try buffer.read(UInt8.self) == 0 ? nil : try buffer.readText()
        streams = try buffer.read(UInt8.self) != 0
        method = try buffer.readText()
        target = try buffer.readText()
        headers = HeaderBlock(encoded: try buffer.readBlob())
        if try buffer.read(UInt8.self) != 0 {
            address = IPAddress(high: try buffer.read(UInt64.self), low: try buffer.read(UInt64.self))
        }
    }
}
