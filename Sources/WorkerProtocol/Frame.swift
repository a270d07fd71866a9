import FunctionManifest
package import NIOCore

/// One message between the host and a worker.
///
/// On the wire: length (4 bytes, of what follows), kind (1), invocation (8), payload; numbers are big-endian.
/// The invocation is 0 where a frame concerns the whole worker.
package struct Frame {
    package var kind: Kind
    package var invocation: UInt64
    package var payload: ByteBuffer

    package init(_ kind: Kind, invocation: UInt64 = 0, payload: ByteBuffer = ByteBuffer()) {
        self.kind = kind
        self.invocation = invocation
        self.payload = payload
    }

    package enum Kind: UInt8, Sendable, CaseIterable {
        // From the host.

        /// Run the handler: an ``InvocationHead`` and the body.
        case invoke = 1
        /// Stop the handler: a ``CancellationReason``.
        case cancel = 2
        /// The answer to a document operation: its number (4 bytes) and a `DocumentResponse`.
        case documentResponse = 3
        /// The client has taken so many bytes (4) of a streamed answer: as many more may be sent.
        case credit = 4
        /// The ``ParamValues`` that the worker's function may read. Sent before the first invocation of a link.
        case params = 5
        /// Give the invocation back unless its handler has begun: what blocks the worker must not hold it up. Where the
        /// handler has begun nothing is answered.
        case recall = 6

        // From the worker.

        /// The worker can run handlers: the protocol's version (2 bytes).
        case ready = 16
        /// The handler's answer, which ends the invocation.
        case result = 17
        /// The handler's failure, which ends the invocation: an ``InvocationFailure``.
        case failure = 18
        /// A part of a streamed answer.
        case chunk = 19
        /// Status and headers of an HTTP answer: an ``HTTPAnswerHead``. Chunks and a result follow.
        case httpHead = 20
        /// A document operation: its number (4 bytes) and a `DocumentRequest`.
        case documentRequest = 21
        /// A ``LogLine``.
        case log = 22
        /// The invocation was recalled in time: its handler hasn't begun and won't begin here. The body that came with
        /// it, so that the host needs to keep none.
        case recalled = 23
    }

    /// As the bundle's manifest has it.
    package static let protocolVersion = UInt16(Manifest.protocolVersion)

    /// The most that a frame's length may say: an answer of ``maxAnswer``, and room.
    package static let maxLength = 33 * 1024 * 1024

    /// Bytes of an answer that isn't streamed: a callable's result, or an HTTP function's body.
    package static let maxAnswer = 32 * 1024 * 1024

    /// Bytes of one part of a streamed answer.
    package static let maxChunk = 10 * 1024 * 1024

    /// As many bytes of a streamed answer may be on their way before the client has taken any. What was sent before may
    /// exceed it by its last chunk; a chunk sent after that, and before any ``Kind/credit``, breaks the protocol.
    package static let initialCredit = 262_144

    static let headerLength = 9
}

extension ByteBuffer {
    /// Appends a frame whose payload `body` writes.
    package mutating func writeFrame(
        _ kind: Frame.Kind, invocation: UInt64 = 0, _ body: (inout ByteBuffer) -> Void = { _ in }
    ) {
        let start = writerIndex
        writeInteger(0 as UInt32)
        writeInteger(kind.rawValue)
        writeInteger(invocation)
        body(&self)
        setInteger(UInt32(writerIndex - start - 4), at: start)
    }

    /// A text of at most 4 GiB with its length before it.
    package mutating func writeText(_ text: String) {
        let start = writerIndex
        writeInteger(0 as UInt32)
        let count = writeString(text)
        setInteger(UInt32(count), at: start)
    }

    package mutating func writeBlob(_ bytes: some Collection<UInt8>) {
        writeInteger(UInt32(bytes.count))
        writeBytes(bytes)
    }

    /// - Throws: ``ProtocolViolation`` where the buffer ends early or the text isn't UTF-8.
    package mutating func readText() throws(ProtocolViolation) -> String {
        let slice = try readBlob()
        guard let text = String(validating: slice.readableBytesView, as: UTF8.self) else {
            throw ProtocolViolation("a text isn't valid UTF-8")
        }
        return text
    }

    package mutating func readBlob() throws(ProtocolViolation) -> ByteBuffer {
        let count = Int(try read(UInt32.self))
        guard let slice = readSlice(length: count) else {
            throw ProtocolViolation("a length of \(count) exceeds the \(readableBytes) bytes left in the frame")
        }
        return slice
    }

    package mutating func read<Number: FixedWidthInteger>(
        _ type: Number.Type
    ) throws(ProtocolViolation) -> Number {
        guard let number = readInteger(as: type) else { throw ProtocolViolation("a frame ends too early") }
        return number
    }
}

/// What the other side of the link sent and must not send. The link ends with it.
package struct ProtocolViolation: Error, Equatable, CustomStringConvertible {
    package var reason: String
    package init(_ reason: String) { self.reason = reason }
    package var description: String { reason }
}
