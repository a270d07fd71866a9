import NIOCore

/// The parts of a `multipart/form-data` body (RFC 7578), in order. A part is looked for when it is asked for, and its
/// content is a part of the body that isn't copied until it is read.
public struct MultipartForm: AsyncSequence, Sendable {
    private let body: ByteBuffer
    private let boundary: String
    private let maxParts: Int
    private let maxPartBytes: Int

    init(_ body: ByteBuffer, boundary: String, maxParts: Int, maxPartBytes: Int) {
        self.body = body
        self.boundary = boundary
        self.maxParts = maxParts
        self.maxPartBytes = maxPartBytes
    }

    public func makeAsyncIterator() -> Iterator {
        Iterator(
            reader: MultipartReader(body, boundary: boundary), maxParts: maxParts, maxPartBytes: maxPartBytes, count: 0)
    }

    public struct Iterator: AsyncIteratorProtocol {
        fileprivate var reader: MultipartReader
        fileprivate let maxParts: Int
        fileprivate let maxPartBytes: Int
        fileprivate var count: Int

        /// The next part; nil after the last one.
        ///
        /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if the body is malformed or exceeds a
        ///   limit; `CancellationError` if the invocation was cancelled.
        public mutating func next() async throws -> MultipartPart? {
            try Task.checkCancellation()
            guard let part = try reader.next() else { return nil }
            count += 1
            guard count <= maxParts else {
                throw HttpsError(.invalidArgument, "body: more than \(maxParts) parts, the limit")
            }
            guard part.content.readableBytes <= maxPartBytes else {
                throw HttpsError(
                    .invalidArgument,
                    "body: the part \"\(part.name)\" has \(part.content.readableBytes) bytes; the limit is \(maxPartBytes)"
                )
            }
            return part
        }
    }
}

/// One part of a `multipart/form-data` body: a field or a file.
public struct MultipartPart: Sendable {
    /// The field's name.
    public let name: String
    /// The file's name as the client sent it, which may contain slashes: don't use it as a path. `filename*` counts
    /// before `filename`, and is decoded. Nil for a field that isn't a file.
    public let filename: String?
    public let headers: Headers
    let content: ByteBuffer

    /// For example `image/png`; nil if the client sent none.
    public var contentType: String? { headers["Content-Type"] }

    /// The unchanged content.
    public var body: [UInt8] { Array(content.readableBytesView) }

    /// The content as text.
    /// - Throws: ``HttpsError`` `invalidArgument`, which the caller sees as 400, if it isn't UTF-8.
    public var text: String {
        get throws {
            guard let text = String(validating: content.readableBytesView, as: UTF8.self) else {
                throw HttpsError(.invalidArgument, "body: the part \"\(name)\" isn't text in UTF-8")
            }
            return text
        }
    }
}

/// Finds the parts of a multipart body (RFC 2046, 5.1).
private struct MultipartReader {
    private static let maxHeaderBytes = 16_384
    private static let lineBreak = Array("\r\n".utf8)

    private var rest: ByteBuffer
    private let delimiter: [UInt8]
    private var isAtStart = true
    private var isOver = false

    init(_ body: ByteBuffer, boundary: String) {
        rest = body
        delimiter = Array("\r\n--\(boundary)".utf8)
    }

    mutating func next() throws -> MultipartPart? {
        if isAtStart { try readPreamble() }
        guard !isOver else { return nil }
        let headers = try readHeaders()
        guard let content = read(upTo: delimiter) else { throw Self.malformed("its last part has no end") }
        try readDelimiterEnd()
        guard let disposition = headers["Content-Disposition"].flatMap(MediaType.init), disposition.name == "form-data",
            let name = disposition.parameters["name"]
        else { throw Self.malformed("a part has no \"Content-Disposition: form-data\" with a name") }
        return MultipartPart(
            name: name, filename: disposition.text("filename"), headers: headers, content: content)
    }

    /// What precedes the first delimiter, which may be at the start of the body, is ignored.
    private mutating func readPreamble() throws {
        isAtStart = false
        let first = delimiter.dropFirst(2)
        if rest.readableBytesView.starts(with: first) {
            rest.moveReaderIndex(forwardBy: first.count)
        } else if read(upTo: delimiter) == nil {
            throw Self.malformed("its boundary doesn't occur")
        }
        try readDelimiterEnd()
    }

    /// Two hyphens after a delimiter end the body.
    private mutating func readDelimiterEnd() throws {
        if rest.readableBytesView.starts(with: [45, 45]) {
            isOver = true
            return
        }
        while let byte = rest.readableBytesView.first, byte == 32 || byte == 9 { rest.moveReaderIndex(forwardBy: 1) }
        guard rest.readableBytesView.starts(with: Self.lineBreak) else {
            throw Self.malformed("a boundary isn't followed by a line break")
        }
        rest.moveReaderIndex(forwardBy: Self.lineBreak.count)
    }

    private mutating func readHeaders() throws -> Headers {
        var pairs: [(name: String, value: String)] = []
        let start = rest.readerIndex
        while true {
            guard let line = read(upTo: Self.lineBreak), rest.readerIndex - start <= Self.maxHeaderBytes else {
                throw Self.malformed("a part's headers don't end within \(Self.maxHeaderBytes) bytes")
            }
            guard line.readableBytes > 0 else { break }
            guard let text = String(validating: line.readableBytesView, as: UTF8.self),
                let colon = text.utf8.firstIndex(of: UInt8(ascii: ":"))
            else { throw Self.malformed("a part's header isn't a name and a value in UTF-8") }
            pairs.append(
                (
                    String(text[..<colon].unicodeScalars.trimmed),
                    String(text.unicodeScalars[colon...].dropFirst().trimmed)
                ))
        }
        var headers: Headers = [:]
        for (name, value) in pairs { headers.add(name, value) }
        return headers
    }

    /// The bytes before the next occurrence of a separator, which is skipped; nil if there is none.
    ///
    /// - Parameter separator: begins with a byte that it contains once, so that the search is linear.
    private mutating func read(upTo separator: [UInt8]) -> ByteBuffer? {
        let bytes = rest.readableBytesView
        var start = bytes.startIndex
        while let found = bytes[start...].firstIndex(of: separator[0]) {
            if bytes[found...].starts(with: separator) {
                let content = rest.readSlice(length: found - bytes.startIndex)
                rest.moveReaderIndex(forwardBy: separator.count)
                return content
            }
            start = found + 1
        }
        return nil
    }

    private static func malformed(_ reason: String) -> HttpsError {
        HttpsError(.invalidArgument, "body: it isn't valid multipart/form-data: \(reason)")
    }
}
