import NIOCore

/// What one read has brought of a request's body, joined: parts of a byte take hundreds each where they wait for the
/// server.
struct JoinedBody {
    /// Whether it is that of one of HTTP/2's streams, which is read on while its parts wait for the server.
    private let isStream: Bool
    private var joined: ByteBuffer?

    private static let smallPart = 512

    init(isStream: Bool) { self.isStream = isStream }

    /// What bytes that are to be added take while they wait for the server. Many small parts of a stream may wait: each
    /// takes hundreds of bytes.
    func cost(of bytes: ByteBuffer) -> Int {
        isStream && joined == nil ? max(bytes.readableBytes, Self.smallPart) : bytes.readableBytes
    }

    mutating func append(_ bytes: ByteBuffer) {
        if joined == nil { joined = bytes } else { joined?.writeImmutableBuffer(bytes) }
    }

    /// Takes what has come, as one part for the server; nil if nothing has.
    mutating func take() -> ByteBuffer? {
        defer { joined = nil }
        return joined
    }

    /// Forgets the bytes, whose request is refused.
    mutating func discard() { joined = nil }
}
