import NIOCore

/// An HTTP answer as the load needs it.
struct Answer: Sendable {
    var status: Int
    var body: ByteBuffer

    /// The body as text, cut for a message.
    var excerpt: String {
        "\(status) " + String(buffer: body.getSlice(at: body.readerIndex, length: min(body.readableBytes, 300)) ?? body)
    }
}

/// Why a connection can't go on.
struct LoadError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
