/// The lines of a response's body.
public struct FetchLines: AsyncSequence, Sendable {
    public typealias Element = String
    let parts: FetchParts

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var parts: FetchParts.AsyncIterator
        fileprivate let url: String
        private var splitter = LineSplitter()

        fileprivate init(_ parts: FetchParts) {
            self.parts = parts.makeAsyncIterator()
            url = parts.url
        }

        /// - Throws: As ``FetchParts``, and if a line has more than 10 MiB.
        public mutating func next() async throws -> String? {
            while true {
                if let line = splitter.next() { return line }
                guard splitter.rest <= LineSplitter.maxLine else {
                    throw FetchError(.tooLarge, "a line has more than \(LineSplitter.maxLine) bytes", url: url)
                }
                guard let part = try await parts.next() else { return splitter.end() }
                splitter.append(part)
            }
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(parts) }
}

/// Splits bytes into lines, in time that is linear in their number.
struct LineSplitter {
    static let maxLine = 10_485_760

    private var bytes: [UInt8] = []
    private var start = 0
    /// The bytes before this contain no end of a line.
    private var searched = 0
    /// Whether the last line has ended with `\r`: a `\n` after it belongs to the same end.
    private var hasEndedWithCR = false

    /// The bytes of the line that hasn't ended.
    var rest: Int { bytes.count - start }

    mutating func append(_ part: [UInt8]) {
        bytes.removeFirst(start)
        searched -= start
        start = 0
        bytes += part
    }

    mutating func next() -> String? {
        if hasEndedWithCR, start < bytes.count {
            hasEndedWithCR = false
            if bytes[start] == UInt8(ascii: "\n") {
                start += 1
                searched = max(searched, start)
            }
        }
        while searched < bytes.count {
            let byte = bytes[searched]
            guard byte == UInt8(ascii: "\n") || byte == UInt8(ascii: "\r") else {
                searched += 1
                continue
            }
            let line = String(decoding: bytes[start..<searched], as: UTF8.self)
            hasEndedWithCR = byte == UInt8(ascii: "\r")
            searched += 1
            start = searched
            return line
        }
        return nil
    }

    /// The last line, if it has no end.
    mutating func end() -> String? {
        guard rest > 0 else { return nil }
        defer { start = bytes.count }
        return String(decoding: bytes[start...], as: UTF8.self)
    }
}
