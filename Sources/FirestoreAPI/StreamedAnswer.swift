import Hummingbird
import GoogleREST
import NIOCore
import StrictJSON

/// An answer whose elements become JSON only while they are sent: as JSON they may be many times as large.
struct StreamedAnswer: Sendable {
    /// Elements of an array.
    struct Elements: Sendable {
        let count: Int
        /// Writes the element at an index.
        let write: @Sendable (Int, inout JSONWriter) -> Void

        static let none = Elements(count: 0) { _, _ in }

        /// These elements and a last one.
        func followed(by last: @escaping @Sendable (inout JSONWriter) -> Void) -> Elements {
            Elements(count: count + 1) { [count, write] index, text in
                if index < count { write(index, &text) } else { last(&text) }
            }
        }
    }

    private let start: JSONWriter
    /// Whether the array has an element already.
    private let hasElement: Bool
    private let elements: Elements
    private let end: JSONWriter

    /// - Parameters:
    ///   - start: up to the elements.
    ///   - hasElement: whether an element of the array is part of `start`.
    ///   - end: what follows the elements.
    init(_ start: JSONWriter, hasElement: Bool = false, _ elements: Elements, end: JSONWriter) {
        self.start = start
        self.hasElement = hasElement
        self.elements = elements
        self.end = end
    }

    init(_ text: JSONWriter) {
        self.init(text, .none, end: JSONWriter())
    }

    /// A part is sent once it has about this size.
    fileprivate static let partBytes = 64 * 1024

    /// - Parameters:
    ///   - call: the answer's memory is held until the client has taken all but a last part.
    ///   - channel: where it is sent.
    func response(_ call: ClientCall, on channel: any Channel) -> Response {
        var text = start
        var next = 0
        let isWhole = render(&text, &next)
        if isWhole, text.bytes.count <= Self.partBytes { return RESTResponse.json(text.bytes, status: .ok) }
        let (first, index) = (ByteBuffer(bytes: text.bytes), next)
        let executor = LargeRequests(.rendering, of: call.address)
        let body = ResponseBody(contentLength: isWhole ? first.readableBytes : nil) { writer in
            try await withTaskExecutorPreference(executor) {
                try await writer.write(first, inPartsOn: channel)
                var (next, isLast) = (index, isWhole)
                while !isLast {
                    var text = JSONWriter(capacity: 2 * Self.partBytes)
                    isLast = render(&text, &next)
                    try await writer.write(ByteBuffer(bytes: text.bytes), inPartsOn: channel)
                }
                try await writer.finish(nil)
            }
            withExtendedLifetime(call) {}
        }
        return Response(status: .ok, headers: RESTResponse.jsonHeaders, body: body)
    }

    /// Appends elements until a part is complete.
    ///
    /// - Returns: whether the answer is complete.
    private func render(_ text: inout JSONWriter, _ next: inout Int) -> Bool {
        while next < elements.count {
            if text.bytes.count >= Self.partBytes { return false }
            if next > 0 || hasElement { text.raw(",") }
            elements.write(next, &text)
            next += 1
        }
        text.append(end)
        return true
    }
}

extension ResponseBodyWriter {
    /// Writes bytes in parts, each once the client has taken most of the one before.
    mutating func write(_ bytes: ByteBuffer, inPartsOn channel: any Channel) async throws {
        var bytes = bytes
        while let part = bytes.readSlice(length: min(bytes.readableBytes, StreamedAnswer.partBytes)),
            part.readableBytes > 0
        {
            try await write(part)
            // The writer waits for the client only once the loop has seen what it has written.
            if part.readableBytes > StreamedAnswer.partBytes / 4 { try await channel.eventLoop.submit {}.get() }
        }
    }
}
