package import DocumentModel
package import NIOCore

/// What a handler works on. Written once, into the frame that carries it to the worker.
package enum InvocationBody {
    case bytes(ByteBuffer)
    /// An event, as it is stored.
    case attempt(DeliveryAttempt)

    func write(to buffer: inout ByteBuffer) {
        switch self {
        case .bytes(let bytes): buffer.writeImmutableBuffer(bytes)
        case .attempt(let attempt):
            buffer.writeBytes(attempt.encodedStart)
            buffer.writeBytes(attempt.event)
        }
    }
}
