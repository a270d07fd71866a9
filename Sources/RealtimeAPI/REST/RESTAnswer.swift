import NIOCore
import NIOHTTP1
import RealtimeModel
import StrictJSON

/// Writes the answer to a read or a write.
final class RESTAnswer {
    /// The ETag of nothing.
    static let nullETag = "null_etag"

    private let request: RESTRequest
    private let connection: RESTConnection
    private var indenter: JSONIndenter?
    /// A value that is being sent.
    private var stream: (any RealtimeContentStream)?
    private var isReading = false
    /// Whether it answers a write.
    private var isWritten = false

    init(_ request: RESTRequest, _ connection: RESTConnection) {
        self.request = request
        self.connection = connection
        indenter = request.printing == .pretty ? JSONIndenter() : nil
    }

    // MARK: Reads

    func send(_ reading: RealtimeReading, _ status: HTTPResponseStatus) {
        var headers = headers(etag: reading.hash)
        if let expected = request.ifNoneMatch, expected == reading.hash.map(Self.etag), status == .ok {
            if case .stream(let stream, _) = reading.content { stream.cancel() }
            return connection.send(.notModified, headers, ByteBuffer())
        }
        if request.printing == .silent, status == .ok {
            if case .stream(let stream, _) = reading.content { stream.cancel() }
            return connection.send(.noContent, headers, ByteBuffer())
        }
        if let name = request.download {
            let safe = String(
                name.unicodeScalars.filter { $0.value >= 0x20 && $0.value < 0x7F && $0 != "\"" && $0 != "\\" })
            headers.add(name: "Content-Disposition", value: "attachment; filename=\"\(safe)\"")
        }
        switch reading.content {
        case .bytes(let bytes):
            connection.send(
                status, headers, ByteBuffer(bytes: request.opening + printed(bytes) + request.closing),
                isDone: isWritten)
        case .stream(let stream, _):
            self.stream = stream
            connection.sendHead(status, headers)
            if !request.opening.isEmpty { connection.sendPart(ByteBuffer(bytes: request.opening)) }
            readMore()
        }
    }

    func clientIsReady() { readMore() }

    func cancel() {
        stream?.cancel()
        stream = nil
    }

    private func readMore() {
        guard let stream, !isReading, connection.isReady else { return }
        isReading = true
        let answer = NIOLoopBound(self, eventLoop: connection.loop.eventLoop)
        stream.next { [queue = connection.queue] part in queue.post { answer.value.received(part) } }
    }

    private func received(_ part: Result<[UInt8]?, RealtimeServiceError>) {
        isReading = false
        guard stream != nil else { return }
        switch part {
        case .success(let bytes?):
            connection.sendPart(ByteBuffer(bytes: printed(bytes)))
            readMore()
        case .success(nil):
            stream = nil
            if !request.closing.isEmpty { connection.sendPart(ByteBuffer(bytes: request.closing)) }
            connection.sendEnd()
        case .failure:
            stream = nil
            connection.breakOff()
        }
    }

    private func printed(_ bytes: [UInt8]) -> [UInt8] {
        guard var indenter else { return bytes }
        var text: [UInt8] = []
        indenter.append(bytes, to: &text)
        self.indenter = indenter
        return text
    }

    // MARK: Writes

    func send(_ written: WriteAnswer) {
        isWritten = true
        let headers = headers(etag: written.hash)
        guard request.printing != .silent else { return connection.send(.noContent, headers, ByteBuffer()) }
        if let content = written.content { return send(RealtimeReading(content, hash: written.hash), .ok) }
        connection.send(.ok, headers, written.body, isDone: true)
    }

    // MARK: Heads

    private func headers(etag hash: String?) -> HTTPHeaders {
        var headers: HTTPHeaders = [
            "Content-Type": request.callback == nil ? RESTBody.contentType : "application/javascript; charset=utf-8",
            "Cache-Control": "no-cache",
        ]
        if let hash { headers.add(name: "ETag", value: Self.etag(hash)) }
        return headers
    }

    private static func etag(_ hash: String) -> String { hash.isEmpty ? nullETag : hash }
}

/// What a write is answered.
struct WriteAnswer: Sendable {
    /// Empty if nothing is printed, or the content is.
    var body = ByteBuffer()
    /// A value that is read as it is sent.
    var content: RealtimeContent?
    var hash: String?

    /// Writes the body, which takes as long as the write is large.
    ///
    /// - Parameter name: the key of a new child.
    init(_ written: RealtimeWritten, _ target: RealtimeTarget, _ name: RealtimeKey?, to request: RESTRequest) {
        hash = written.hash
        guard request.printing != .silent else { return }
        if request.verb == .put, let content = written.content {
            self.content = content
            return
        }
        var writer = JSONWriter(capacity: 64)
        switch request.verb {
        case .post:
            writer.raw("{\"name\":")
            writer.string(name?.string ?? "")
            writer.raw("}")
        case .put: writer.realtime(written.changes.first?.node, as: .written)
        // The update was null.
        case .patch where written.changes.first?.target == target: writer.null()
        case .patch:
            writer.raw("{")
            writer.list(written.changes) { writer, change in
                writer.key((change.target.relative(to: target.path) ?? change.target).string)
                writer.realtime(change.node, as: .written)
            }
            writer.raw("}")
        default: writer.null()
        }
        var text = writer.bytes
        if request.printing == .pretty {
            var indenter = JSONIndenter()
            text = []
            indenter.append(writer.bytes, to: &text)
        }
        body.writeBytes(request.opening)
        body.writeBytes(text)
        body.writeBytes(request.closing)
    }
}

extension RESTRequest {
    /// What surrounds the answer's value.
    fileprivate var opening: [UInt8] { callback.map { Array("\($0)(".utf8) } ?? [] }

    fileprivate var closing: [UInt8] { callback == nil ? [] : Array(");".utf8) }
}
