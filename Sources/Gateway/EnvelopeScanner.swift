import NIOCore
import StrictJSON

/// Finds `data` in the body of a callable request, and validates the whole body as JSON.
///
/// It doesn't decode: the worker does, once and as the author's type. A valid body is a JSON object whose only key is
/// `data`. Keys that are repeated within `data` are refused by the worker, which compares them while it decodes: here
/// the comparison would block an event loop, before the caller's tokens are checked.
enum EnvelopeScanner {
    /// Why the envelope is invalid. For the log; the response is «Bad Request».
    enum Failure: Error, Equatable, CustomStringConvertible {
        case empty
        case malformed(JSONError)
        case notAnObject
        case missingData
        case otherKey

        var description: String {
            switch self {
            case .empty: "the body is empty"
            case .malformed(let error): "the body isn't valid JSON: \(error.reason)"
            case .notAnObject: "the body isn't a JSON object"
            case .missingData: "the body has no key \"data\""
            case .otherKey: "the body has a key other than \"data\""
            }
        }
    }

    /// - Returns: The bytes of `data`, which share the body's storage.
    static func data(in body: ByteBuffer) throws(Failure) -> ByteBuffer {
        guard body.readableBytes > 0 else { throw .empty }
        let range = body.withUnsafeReadableBytes { bytes in
            Result { () throws(Failure) in try data(in: bytes) }
        }
        let found = try range.get()
        return body.getSlice(at: body.readerIndex + found.lowerBound, length: found.count) ?? ByteBuffer()
    }

    private static func data(in bytes: UnsafeRawBufferPointer) throws(Failure) -> Range<Int> {
        var scanner = JSONScanner(bytes)
        let envelope: Envelope?
        do throws(JSONError) {
            scanner.skipSpace()
            envelope = scanner.take(UInt8(ascii: "{")) ? try Envelope(&scanner) : nil
            // The log distinguishes another JSON value from malformed JSON.
            if envelope == nil { try scanner.skipValue() }
            try scanner.end()
        } catch {
            throw .malformed(error)
        }
        guard let envelope else { throw .notAnObject }
        guard !envelope.hasOtherKey else { throw .otherKey }
        guard let data = envelope.data else { throw .missingData }
        return data
    }

    /// The members of the body's object.
    private struct Envelope {
        var data: Range<Int>?
        var hasOtherKey = false

        /// - Parameter scanner: A scanner after the opening brace. It ends after the closing brace.
        init(_ scanner: inout JSONScanner) throws(JSONError) {
            scanner.skipSpace()
            if scanner.take(UInt8(ascii: "}")) { return }
            repeat {
                scanner.skipSpace()
                let keyStart = scanner.position
                let isData = try scanner.isKey("data")
                let start = scanner.position
                try scanner.skipValue()
                if isData {
                    guard data == nil else { throw JSONError(.duplicateKey("data"), at: keyStart) }
                    data = start..<scanner.position
                } else {
                    hasOtherKey = true
                }
                scanner.skipSpace()
            } while scanner.take(UInt8(ascii: ","))
            try scanner.endObject()
        }
    }
}
