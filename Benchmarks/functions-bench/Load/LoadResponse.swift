import NIOCore

/// An HTTP response to a load's request.
struct LoadResponse: Sendable {
    var status: Int
    var body: ByteBuffer

    /// The status and the beginning of the body, for messages.
    var excerpt: String {
        "\(status) " + String(buffer: body.getSlice(at: body.readerIndex, length: min(body.readableBytes, 300)) ?? body)
    }
}

/// Why a benchmark can't continue.
struct LoadError: Error, CustomStringConvertible {
    var description: String

    init(_ description: String) { self.description = description }
}
