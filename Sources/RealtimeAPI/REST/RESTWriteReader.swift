import DocumentModel
import NIOCore
import RealtimeModel
import RealtimeStore
import Sharing
import StrictJSON

/// Reads the body of a write. A large one is read on another thread, and a very large value goes to the store as it is
/// read.
struct RESTWriteReader {
    private let request: RESTRequest
    private let target: RealtimeTarget
    private let name: RealtimeKey?
    private let database: any RealtimeDatabase
    private let principal: RealtimePrincipal
    private let client: RealtimeClient
    /// Set once the client has left.
    private let cancellation: OperationCancellation

    /// Bodies up to this are read, and their writes answered, on the loop.
    static let smallBody = 64 * 1024
    /// Of bodies beyond this, one at a time is read and written.
    static let largeBody = 8 * 1024 * 1024

    /// - Parameters:
    ///   - target: what the request's path addresses.
    ///   - name: the key of a new child.
    init(
        _ request: RESTRequest, _ target: RealtimeTarget, name: RealtimeKey?, to database: any RealtimeDatabase,
        as principal: RealtimePrincipal, for client: RealtimeClient, until cancellation: OperationCancellation
    ) {
        self.request = request
        self.target = target
        self.name = name
        self.database = database
        self.principal = principal
        self.client = client
        self.cancellation = cancellation
    }

    /// - Parameter completion: called on the loop.
    func read(
        _ body: RESTBodyText.Content, on queue: ConnectionQueue,
        _ completion: @escaping @Sendable (Result<RealtimeWrite, RESTRefusal>) -> Void
    ) {
        switch body {
        case .buffer(let buffer) where buffer.readableBytes <= Self.smallBody: completion(write(buffer))
        case .buffer(let buffer):
            queue.loop.parts.longWork.add(of: client.address) {
                let result = write(buffer)
                queue.post { completion(result) }
            }
        case .file(let file):
            @Sendable func read() {
                let result = write(file)
                queue.post { completion(result) }
            }
            file.whenWritten {
                if file.bytes > Self.largeBody {
                    queue.loop.parts.largeWork.add(read)
                } else {
                    queue.loop.parts.longWork.add(of: client.address, read)
                }
            }
        }
    }

    private func write(_ buffer: ByteBuffer) -> Result<RealtimeWrite, RESTRefusal> {
        buffer.withUnsafeReadableBytes { bytes in Result { () throws(RESTRefusal) in try write(bytes) } }
    }

    private func write(_ file: SpooledBody) -> Result<RealtimeWrite, RESTRefusal> {
        do {
            return try file.withBytes { bytes in
                Result { () throws(RESTRefusal) in try write(bytes, isFile: true) }
            }
        } catch {
            return .failure(RESTRefusal(503, RealtimeFailure(from: error).message))
        }
    }

    /// - Parameter isFile: whether the body is that of a file, and not in memory.
    private func write(_ body: UnsafeRawBufferPointer, isFile: Bool = false) throws(RESTRefusal) -> RealtimeWrite {
        let verb = request.verb
        if verb != .delete, body.isEmpty { throw RESTRefusal(400, "Error: No data supplied.") }
        switch verb {
        case .delete: return .set(target, RealtimeWriteValue(nil), ifHash: hash)
        case .patch:
            return try reading(body) { () throws(RealtimeError) in
                guard !target.isPriority else { throw RealtimeError(.invalidPath(target.string)) }
                // firebase-tools deletes like this.
                if Self.isNull(body) { return .set(target, RealtimeWriteValue(nil)) }
                return .update(try RealtimeUpdate(parsing: body, at: target.path))
            }
        case .post:
            let child = try reading(body) { () throws(RealtimeError) in
                guard let name, !target.isPriority else { throw RealtimeError(.invalidPath(target.string)) }
                return RealtimeTarget(try target.path.appending(RealtimePath(unchecked: [name])))
            }
            return .set(child, try value(body, isFile, at: child))
        default: return .set(target, try value(body, isFile, at: target), ifHash: hash)
        }
    }

    private static func isNull(_ body: UnsafeRawBufferPointer) -> Bool {
        var scanner = JSONScanner(body)
        scanner.skipSpace()
        guard scanner.peek() == UInt8(ascii: "n") else { return false }
        do throws(JSONError) {
            try scanner.skipValue()
            try scanner.end()
            return true
        } catch {
            return false
        }
    }

    private func value(
        _ body: UnsafeRawBufferPointer, _ isFile: Bool, at target: RealtimeTarget
    ) throws(RESTRefusal) -> RealtimeWriteValue {
        if isFile, body.count > Self.largeBody, !target.isPriority {
            switch try staging(body, at: target.path) {
            case .value(let value): return value
            case .invalid(let error): throw refusal(error, body)
            case .needsMemory: break
            }
        }
        return try reading(body) { () throws(RealtimeError) in try RealtimeWriteValue(parsing: body, at: target) }
    }

    private func staging(
        _ body: UnsafeRawBufferPointer, at path: RealtimePath
    ) throws(RESTRefusal) -> RealtimeStaging {
        do throws(RealtimeServiceError) {
            return try database.stage(body, at: path, as: principal, for: client) { [cancellation] position in
                SpoolFile.release(body, upTo: position)
                return !cancellation.isCancelled
            }
        } catch {
            throw RESTRefusal(error)
        }
    }

    private func reading<Content>(
        _ body: UnsafeRawBufferPointer, _ read: () throws(RealtimeError) -> Content
    ) throws(RESTRefusal) -> Content {
        do throws(RealtimeError) { return try read() } catch { throw refusal(error, body) }
    }

    private func refusal(_ error: RealtimeError, _ body: UnsafeRawBufferPointer) -> RESTRefusal {
        guard error.problem != .tooManyNodes else { return RESTRefusal(.tooMuchToWrite) }
        guard error.problem != .updateTooLarge else {
            return RESTRefusal(.updateTooLarge(nodes: RealtimeLimits.maxUpdateNodes))
        }
        return RESTRefusal(400, error.restMessage(body: body, isUpdate: request.verb == .patch))
    }

    /// The condition's hash. That of nothing is written as a word, since an ETag can't be empty.
    private var hash: String? { request.ifMatch.map { $0 == RESTAnswer.nullETag ? "" : $0 } }
}
