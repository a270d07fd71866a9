import DequeModule
import NIOCore
package import NIOHTTP1

/// What a client has sent of its next requests while the answer before them is made and taken.
package struct WaitingParts {
    private var parts: Deque<HTTPServerRequestPart> = []

    /// What is read at once may have thousands of small requests, which take many times their bytes.
    package static let mostRequests = 128
    /// A request has up to three parts.
    static let most = 3 * mostRequests

    package init() {}

    package var isEmpty: Bool { parts.isEmpty }

    /// Whether the connection has to close, since its client sends too many requests ahead.
    package var areTooMany: Bool { parts.count > Self.most }

    /// Adds a part; those of one body are joined.
    package mutating func append(_ part: HTTPServerRequestPart) {
        guard case .body(let more) = part, case .body(var bytes)? = parts.last else { return parts.append(part) }
        // Bytes that are held twice would be copied with each part.
        parts.removeLast()
        bytes.writeImmutableBuffer(more)
        parts.append(.body(bytes))
    }

    package mutating func popFirst() -> HTTPServerRequestPart? { parts.popFirst() }
}
