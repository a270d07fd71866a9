import NIOCore

/// A token's claims, decoded when a handler first reads them: most handlers only need the uid.
struct LazyClaims: Sendable {
    private let bytes: ByteBuffer

    init(_ bytes: ByteBuffer) { self.bytes = bytes }

    /// The claims; an empty object if they aren't JSON, which the host never sends.
    var value: JSONValue { (try? JSONValue(parsing: Array(bytes.readableBytesView))) ?? .object([:]) }
}
