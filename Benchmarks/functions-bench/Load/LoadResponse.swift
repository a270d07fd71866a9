import NIOCore

/// An HTTP response to a load's request.
struct LoadResponse: Sendable {
    var status: Int
    /// The header of this name.
    var etag: String?
    var body: ByteBuffer

    init(status: Int, etag: String? = nil, body: ByteBuffer) {
        self.status = status
        self.etag = etag
        self.body = body
    }

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
