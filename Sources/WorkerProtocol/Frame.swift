import FunctionManifest
package import NIOCore

/// A message between the host and a worker.
///
/// Wire format: length (4 bytes, of what follows), kind (1), invocation (8), payload; numbers are big-endian. The
/// invocation is 0 if a frame concerns the whole worker.
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

        /// Runs the handler: an ``InvocationHead`` and the body.
        case invoke = 1
        /// Cancels the handler: a ``CancellationReason``.
        case cancel = 2
        /// The response to a document operation: its number (4 bytes) and a `DocumentResponse`.
        case documentResponse = 3
        /// Credit: the client has consumed this many bytes (4) of a streamed response, and as many more may be sent.
        case credit = 4
        /// The ``ParamValues`` of the worker's function. Sent before a link's first invocation.
        case params = 5
        /// Recalls the invocation unless its handler has started, so that a blocked worker doesn't delay it. If the
        /// handler has started there is no reply.
        case recall = 6

        // From the worker.

        /// The worker is ready: the protocol version (2 bytes).
        case ready = 16
        /// The handler's result, which ends the invocation, unless a commit has ended it:
        /// ``DocumentRequest/completing``.
        case result = 17
        /// The handler's failure, which ends the invocation: an ``InvocationFailure``.
        case failure = 18
        /// A chunk of a streamed response.
        case chunk = 19
        /// The status and headers of an HTTP response: an ``HTTPAnswerHead``. Chunks and a result follow.
        case httpHead = 20
        /// A document operation: its number (4 bytes) and a `DocumentRequest`.
        case documentRequest = 21
        /// A ``LogLine``.
        case log = 22
        /// The invocation was recalled: its handler hasn't started and won't start here. Contains the invocation's
        /// body, so that the host needn't keep a copy.
        case recalled = 23
    }

    /// The version that bundles declare in their manifests.
    package static let protocolVersion = UInt16(Manifest.protocolVersion)

    /// The maximum frame length: a response of ``maxAnswer`` plus overhead.
    package static let maxLength = 33 * 1024 * 1024

    /// The maximum size of an unstreamed response: a callable's result, or an HTTP function's body.
    package static let maxAnswer = 32 * 1024 * 1024

    /// The maximum size of a chunk of a streamed response.
    package static let maxChunk = 10 * 1024 * 1024

    /// The initial credit: the bytes of a streamed response that may be in flight before the client has consumed any.
    /// The last chunk may exceed the credit; a chunk sent after that, before any ``Kind/credit``, violates the
    /// protocol.
    package static let initialCredit = 262_144

    static let headerLength = 9
}

/// The fields of frames: fixed widths, big-endian, and texts and blobs with their length in four bytes.
///
/// Each read is checked against what is left of the frame, whose own length ``FrameParser`` has bounded. Frames are read in
/// place, so that a body is a slice of what arrived and is never copied. Documents and operations within a payload have
/// the encoding of `ByteWriter`, which is shorter and is also what is stored.
extension ByteBuffer {
    /// Appends a frame whose payload is written by `body`.
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

    /// Appends a string of at most 4 GiB, preceded by its length.
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

    /// - Throws: ``ProtocolViolation`` if the buffer ends early or the string isn't UTF-8.
    package mutating func readText() throws(ProtocolViolation) -> String {
        let slice = try readBlob()
        guard let text = String(validating: slice.readableBytesView, as: UTF8.self) else {
            throw ProtocolViolation("a string isn't valid UTF-8")
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

/// A violation of the worker protocol by the peer. It ends the link.
package struct ProtocolViolation: Error, Equatable, CustomStringConvertible {
    package var reason: String
    package init(_ reason: String) { self.reason = reason }
    package var description: String { reason }
}
