import NIOCore
import RealtimeModel
import Sharing

/// Reads the body of a write. A large one is read on another thread.
struct RESTWriteReader {
    private let verb: RESTRequest.Verb
    private let target: RealtimeTarget
    private let name: RealtimeKey?
    private let ifMatch: String?

    /// Bodies up to this are read at once.
    private static let smallBody = 64 * 1024

    /// - Parameter name: the key of a new child.
    init(_ verb: RESTRequest.Verb, _ target: RealtimeTarget, name: RealtimeKey?, ifMatch: String?) {
        self.verb = verb
        self.target = target
        self.name = name
        self.ifMatch = ifMatch
    }

    /// - Parameter completion: called on the loop.
    func read(
        _ body: ByteBuffer, on loop: RealtimeLoop,
        _ completion: @escaping @Sendable (Result<RealtimeWrite, RESTRefusal>) -> Void
    ) {
        guard body.readableBytes > Self.smallBody else {
            return completion(Result { () throws(RESTRefusal) in try write(body) })
        }
        loop.parts.longWork.add {
            let result = Result { () throws(RESTRefusal) in try write(body) }
            loop.post { completion(result) }
        }
    }

    private func write(_ body: ByteBuffer) throws(RESTRefusal) -> RealtimeWrite {
        if verb != .delete, body.readableBytes == 0 { throw RESTRefusal(400, "Error: No data supplied.") }
        do throws(RealtimeError) {
            switch verb {
            case .delete: return .set(target, RealtimeWriteValue(nil), ifHash: hash)
            case .patch:
                guard !target.isPriority else { throw RealtimeError(.invalidPath(target.string)) }
                return .update(
                    try parse(body) { bytes throws(RealtimeError) in
                        try RealtimeUpdate(parsing: bytes, at: target.path)
                    })
            case .post:
                guard let name, !target.isPriority else { throw RealtimeError(.invalidPath(target.string)) }
                let child = RealtimeTarget(try target.path.appending(RealtimePath(unchecked: [name])))
                return .set(child, try value(body, at: child))
            default: return .set(target, try value(body, at: target), ifHash: hash)
            }
        } catch {
            throw RESTRefusal(400, error.restMessage(body: body.readableBytesView, isUpdate: verb == .patch))
        }
    }

    /// The condition's hash. That of nothing is written as a word, since an ETag can't be empty.
    private var hash: String? { ifMatch.map { $0 == RESTAnswer.nullETag ? "" : $0 } }

    private func value(_ body: ByteBuffer, at target: RealtimeTarget) throws(RealtimeError) -> RealtimeWriteValue {
        try parse(body) { bytes throws(RealtimeError) in try RealtimeWriteValue(parsing: bytes, at: target) }
    }

    private func parse<Value>(
        _ body: ByteBuffer, _ parse: (UnsafeRawBufferPointer) throws(RealtimeError) -> Value
    ) throws(RealtimeError) -> Value {
        let result = body.withUnsafeReadableBytes { bytes in
            Result { () throws(RealtimeError) in try parse(bytes) }
        }
        return try result.get()
    }
}
