import NIOCore
import RealtimeModel
import RealtimeStore
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
        _ body: RESTBodyText.Content, on loop: RealtimeLoop,
        _ completion: @escaping @Sendable (Result<RealtimeWrite, RESTRefusal>) -> Void
    ) {
        switch body {
        case .buffer(let buffer) where buffer.readableBytes <= Self.smallBody: completion(write(buffer))
        case .buffer(let buffer):
            loop.parts.longWork.add {
                let result = write(buffer)
                loop.post { completion(result) }
            }
        case .file(let file):
            file.whenWritten {
                loop.parts.longWork.add {
                    let result = write(file)
                    loop.post { completion(result) }
                }
            }
        }
    }

    private func write(_ buffer: ByteBuffer) -> Result<RealtimeWrite, RESTRefusal> {
        buffer.withUnsafeReadableBytes { bytes in Result { () throws(RESTRefusal) in try write(bytes) } }
    }

    private func write(_ file: SpooledBody) -> Result<RealtimeWrite, RESTRefusal> {
        do {
            return try file.withBytes { bytes in Result { () throws(RESTRefusal) in try write(bytes) } }
        } catch {
            return .failure(RESTRefusal(503, RealtimeFailure(from: error).message))
        }
    }

    private func write(_ body: UnsafeRawBufferPointer) throws(RESTRefusal) -> RealtimeWrite {
        if verb != .delete, body.isEmpty { throw RESTRefusal(400, "Error: No data supplied.") }
        do throws(RealtimeError) {
            switch verb {
            case .delete: return .set(target, RealtimeWriteValue(nil), ifHash: hash)
            case .patch:
                guard !target.isPriority else { throw RealtimeError(.invalidPath(target.string)) }
                return .update(try RealtimeUpdate(parsing: body, at: target.path))
            case .post:
                guard let name, !target.isPriority else { throw RealtimeError(.invalidPath(target.string)) }
                let child = RealtimeTarget(try target.path.appending(RealtimePath(unchecked: [name])))
                return .set(child, try RealtimeWriteValue(parsing: body, at: child))
            default: return .set(target, try RealtimeWriteValue(parsing: body, at: target), ifHash: hash)
            }
        } catch {
            if error.problem == .tooManyNodes { throw RESTRefusal(.tooMuchToWrite) }
            throw RESTRefusal(400, error.restMessage(body: body, isUpdate: verb == .patch))
        }
    }

    /// The condition's hash. That of nothing is written as a word, since an ETag can't be empty.
    private var hash: String? { ifMatch.map { $0 == RESTAnswer.nullETag ? "" : $0 } }
}
