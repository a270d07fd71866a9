import NIOCore

/// A token's claims as bytes, read when a handler first asks: most only want the uid.
struct LazyClaims: Sendable {
    private let bytes: ByteBuffer

    init(_ bytes: ByteBuffer) { self.bytes = bytes }

    /// The claims; an empty object where they aren't JSON, which the host never sends.
    var value: JSONValue { (try? JSONValue(parsing: Array(bytes.readableBytesView))) ?? .object([:]) }
}
