import NIOCore
import FunctionsRuntime

/// Parts of a body, whatever they are read from.
struct AnyParts: AsyncSequence, Sendable {
    struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let read: () async throws -> [UInt8]?

        mutating func next() async throws -> [UInt8]? { try await read() }
    }

    private let iterator: @Sendable () -> AsyncIterator

    init<Parts: AsyncSequence & Sendable>(_ parts: Parts) where Parts.Element == [UInt8] {
        iterator = {
            var iterator = parts.makeAsyncIterator()
            return AsyncIterator { try await iterator.next() }
        }
    }

    func makeAsyncIterator() -> AsyncIterator { iterator() }
}

extension HTTPResponse {
    /// The body in parts. A streamed one runs while it is read, and before: nothing holds it up.
    var parts: AnyParts {
        switch body {
        case .bytes(let bytes):
            AnyParts(
                AsyncStream { continuation in
                    if !bytes.isEmpty { continuation.yield(bytes) }
                    continuation.finish()
                })
        case .stream(let write):
            AnyParts(
                AsyncThrowingStream { continuation in
                    let task = Task {
                        do {
                            try await write(HTTPBodyWriter { continuation.yield(Array($0.readableBytesView)) })
                            continuation.finish()
                        } catch {
                            continuation.finish(throwing: error)
                        }
                    }
                    continuation.onTermination = { _ in task.cancel() }
                })
        }
    }
}
