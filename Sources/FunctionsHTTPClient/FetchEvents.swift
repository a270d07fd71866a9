/// An event of a `text/event-stream`, as model providers and other streaming services send them.
public struct ServerSentEvent: Equatable, Sendable {
    /// The event's type. Default `message`.
    public var event = "message"
    /// The lines of `data:`, joined by line breaks.
    public var data = ""
    /// The last `id:` of the stream so far; nil if it has none.
    public var id: String?

    /// Decodes the data from JSON.
    /// - Throws: ``FetchError`` with the path that doesn't decode.
    public func json<Value: Decodable>(as type: Value.Type = Value.self) throws -> Value {
        try decodeJSON(type, from: Array(data.utf8), of: "data", "")
    }
}

/// The server-sent events of a response's body, by the rules of the HTML standard (9.2.6). Comments, `retry:` and an event
/// that has not ended when the body does are left out.
public struct FetchEvents: AsyncSequence, Sendable {
    public typealias Element = ServerSentEvent
    let lines: FetchLines

    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate var lines: FetchLines.AsyncIterator
        fileprivate let url: String
        private var parser = EventParser()

        fileprivate init(_ lines: FetchLines) {
            self.lines = lines.makeAsyncIterator()
            url = lines.parts.url
        }

        /// - Throws: As ``FetchLines``, and if the data of an event has more than 10 MiB.
        public mutating func next() async throws -> ServerSentEvent? {
            while let line = try await lines.next() {
                // A body that has arrived already would be read without a pause.
                try Task.checkCancellation()
                if let event = parser.receive(line) { return event }
                guard parser.bytes <= LineSplitter.maxLine else {
                    throw FetchError(.tooLarge, "an event has more than \(LineSplitter.maxLine) bytes", url: url)
                }
            }
            return nil
        }
    }

    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(lines) }
}

/// Joins lines into events.
struct EventParser {
    private var type = ""
    private var data: String?
    private var id: String?
    private var isFirst = true

    /// The data of the event that hasn't ended.
    var bytes: Int { data?.utf8.count ?? 0 }

    /// - Returns: The event that the line ends.
    mutating func receive(_ line: String) -> ServerSentEvent? {
        var line = line[...]
        if isFirst, line.unicodeScalars.first == "\u{FEFF}" { line = Substring(line.unicodeScalars.dropFirst()) }
        isFirst = false
        guard !line.isEmpty else {
            defer { (type, data) = ("", nil) }
            return data.map { ServerSentEvent(event: type.isEmpty ? "message" : type, data: $0, id: id) }
        }
        let name = line.utf8.prefix { $0 != UInt8(ascii: ":") }
        var value = line.utf8[name.endIndex...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        let text = String(Substring(value))
        switch String(Substring(name)) {
        case "event": type = text
        case "data":
            // In place: joined, many lines would be copied for each one.
            data?.append("\n")
            data = data ?? ""
            data?.append(text)
        case "id" where !text.utf8.contains(0): id = text
        default: break
        }
        return nil
    }
}
