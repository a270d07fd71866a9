import NIOCore

/// Parses HTTP/1.1 responses from the bytes of a keep-alive connection.
///
/// Supports bodies with a length and in chunks, which is all that JSON servers send, and costs far less than the
/// measured servers.
struct ResponseParser {
    private enum State {
        case head
        case body(Head, length: Int)
        case chunk(Head, collected: ByteBuffer)
    }

    private struct Head {
        var status: Int
        var etag: String?
        var length: Int?
        var isChunked = false
    }

    private var state = State.head

    /// The next complete response; nil if more bytes are needed.
    mutating func next(in buffer: inout ByteBuffer) throws(LoadError) -> LoadResponse? {
        while true {
            switch state {
            case .head:
                guard let head = try readHead(&buffer) else { return nil }
                if head.isChunked {
                    state = .chunk(head, collected: ByteBuffer())
                } else if let length = head.length {
                    state = .body(head, length: length)
                } else {
                    throw LoadError("a response has neither a length nor chunks")
                }
            case .body(let head, let length):
                guard let body = buffer.readSlice(length: length) else { return nil }
                state = .head
                return LoadResponse(status: head.status, etag: head.etag, body: body)
            case .chunk(let head, var collected):
                let start = buffer.readerIndex
                // Held here alone, or the next chunk would copy all before it.
                state = .head
                guard let line = readLine(&buffer) else {
                    state = .chunk(head, collected: collected)
                    return nil
                }
                guard let size = Int(line.prefix { $0 != ";" }, radix: 16), size >= 0 else {
                    throw LoadError("\"\(line)\" is not the size of a chunk")
                }
                guard var chunk = buffer.readSlice(length: size), buffer.readSlice(length: 2) != nil else {
                    buffer.moveReaderIndex(to: start)
                    state = .chunk(head, collected: collected)
                    return nil
                }
                if size == 0 { return LoadResponse(status: head.status, etag: head.etag, body: collected) }
                collected.writeBuffer(&chunk)
                state = .chunk(head, collected: collected)
            }
        }
    }

    private func readLine(_ buffer: inout ByteBuffer) -> String? {
        let view = buffer.readableBytesView
        guard let end = view.firstIndex(of: UInt8(ascii: "\n")) else { return nil }
        let line = buffer.readString(length: end - view.startIndex + 1)
        return line.map { String($0.utf8.dropLast($0.utf8.suffix(2).first == UInt8(ascii: "\r") ? 2 : 1)) ?? "" }
    }

    /// Reads up to the empty line; nil if that hasn't arrived yet.
    private func readHead(_ buffer: inout ByteBuffer) throws(LoadError) -> Head? {
        guard let length = headLength(buffer) else { return nil }
        let text = buffer.readString(length: length) ?? ""
        let lines = text.utf8.split(separator: UInt8(ascii: "\n"))
        guard let first = lines.first, let status = Int(String(first.dropFirst(9).prefix(3)) ?? "") else {
            throw LoadError("this is not an HTTP response: \(text.prefix(100))")
        }
        var head = Head(status: status, length: status == 204 || status == 304 ? 0 : nil)
        for line in lines.dropFirst() {
            guard let first = line.first.map({ $0 | 0x20 }), "cte".utf8.contains(first) else { continue }
            let text = String(line) ?? ""
            let field = text.lowercased()
            if field.hasPrefix("etag:") {
                head.etag = String(text.dropFirst(5).filter { !$0.isWhitespace })
            } else if field.hasPrefix("content-length:") {
                head.length = Int(field.dropFirst(15).filter { $0.isNumber })
            } else if field.hasPrefix("transfer-encoding:"), field.contains("chunked") {
                head.isChunked = true
            }
        }
        return head
    }

    private func headLength(_ buffer: ByteBuffer) -> Int? {
        buffer.withUnsafeReadableBytes { bytes in
            var index = 3
            while index < bytes.count {
                if bytes[index] == 10, bytes[index - 1] == 13, bytes[index - 2] == 10, bytes[index - 3] == 13 {
                    return index + 1
                }
                index += 1
            }
            return nil
        }
    }
}
