package import DocumentModel
import UserModel

/// Bounds of a request, which both sides apply. A request beyond them fails; its worker goes on.
extension DocumentRequest {
    /// The maximum size of a request: a commit of the documented size with its framing.
    package static let maxBytes = DocumentLimits.maxRequestBytes + 65_536
    /// The maximum memory of all lists and maps of a request once it is decoded: values, fields, paths, writes and filters.
    package static let maxDecodedBytes = 64 * 1024 * 1024

    package static func tooLarge(_ bytes: Int) -> DocumentError {
        .invalidArgument("a request has \(bytes) bytes, more than 10 MiB, the limit")
    }

    fileprivate static let tooManyValues = DocumentError.invalidArgument(
        "a request has so many values that it takes more than 64 MiB of memory, the limit; use several requests")

    /// What a request does, as far as its answer's size depends on it.
    package enum Purpose: Sendable {
        /// Returns what it finds; it can be repeated.
        case read
        /// Begins a transaction.
        case begin
        /// Changes something or ends a transaction; its results are smaller than the request.
        case write
        /// Waits for something to happen, perhaps until its invocation ends.
        case wait
    }

    /// The purpose of an encoded request.
    package static func purpose(of bytes: [UInt8]) -> Purpose {
        switch bytes.first {
        case 1, 2, 7, 8, 9, 11, 12, 18, 19, 20, 21: .read
        case 3, 4, 13: .begin
        case 15 where bytes.count > 1 && UserRequest.Operation(rawValue: bytes[1])?.isRead == true: .read
        case 17: bytes.count > 1 ? DatabaseRequest.Operation(rawValue: bytes[1])?.purpose ?? .write : .write
        default: .write
        }
    }
}

/// A request of a worker, decoded within its bounds.
package struct BoundedRequest: Sendable {
    package let request: DocumentRequest
    /// About how many bytes of memory it takes.
    package let bytes: Int

    package enum Refusal: Error, Hashable {
        case malformed(DecodingFailure)
        /// It is larger than a request may be, or contains something beyond a limit.
        case beyondLimit(DocumentError)
    }

    package init(_ bytes: [UInt8]) throws(Refusal) {
        guard bytes.count <= DocumentRequest.maxBytes else {
            throw .beyondLimit(DocumentRequest.tooLarge(bytes.count))
        }
        do throws(DocumentError) { try DocumentLimits.checkMarks(in: bytes) } catch { throw .beyondLimit(error) }
        var reader = ByteReader(bytes[...], maxElementBytes: DocumentRequest.maxDecodedBytes)
        do throws(DecodingFailure) {
            request = try DocumentRequest(from: &reader)
        } catch {
            if reader.elementBytes > DocumentRequest.maxDecodedBytes {
                throw .beyondLimit(DocumentRequest.tooManyValues)
            }
            throw error.isBeyondLimit ? .beyondLimit(.invalidArgument(error.reason)) : .malformed(error)
        }
        self.bytes = bytes.count + reader.elementBytes
    }
}
