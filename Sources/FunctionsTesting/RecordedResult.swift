import DocumentModel
import FunctionsRuntime
import NIOCore
import StrictJSON
import Synchronization
import WorkerProtocol

/// Stores the handler's result.
final class RecordedResult: HandlerResultReceiver {
    struct Content: Sendable {
        var head: HTTPAnswerHead?
        var body: [UInt8] = []
        var failure: InvocationFailure?
        /// What the handler threw.
        var error: (any Error)?
        /// Whether the handler exceeded its timeout.
        var isGivenUp = false
    }

    private let state = Mutex(Content())

    var content: Content { state.withLock { $0 } }

    func send(_ head: HTTPAnswerHead) { state.withLock { $0.head = head } }

    func append(_ part: ByteBuffer) { state.withLock { $0.body += part.readableBytesView } }

    func end(_ body: [UInt8]) { state.withLock { $0.body += body } }

    func fail(_ failure: InvocationFailure, _ error: any Error) {
        state.withLock { content in
            content.failure = failure
            content.error = error
        }
    }
}

extension HttpsError {
    /// A failure as a client reads it.
    ///
    /// - Parameter unwraps: Whether the client replaces wrapped 64-bit integers in the details, as SDKs do that call.
    init(_ failure: InvocationFailure, unwrappingIntegers unwraps: Bool = false) {
        let details = failure.details?.withUnsafeReadableBytes { bytes in
            try? JSONValue(parsing: bytes, unwrappingIntegers: unwraps)
        }
        self.init(failure.code, failure.message, details: details)
    }
}
