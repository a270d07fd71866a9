/// Puts the events of a stream together (`text/event-stream`), whose pieces may end anywhere.
struct EventStreamParser {
    struct Event: Equatable {
        var name: String
        var data: [UInt8]
        /// How many bytes of the stream it had, and what came before it.
        var byteCount: Int
    }

    private var line: [UInt8] = []
    private var name = ""
    private var data: [UInt8]?
    private var byteCount = 0

    /// The events that a piece completes. One without a name or data is among them, for its bytes.
    mutating func append(_ piece: [UInt8]) -> [Event] {
        var events: [Event] = []
        var rest = piece[...]
        while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
            byteCount += end + 1 - rest.startIndex
            line += rest[..<end]
            rest = rest[(end + 1)...]
            if let event = endLine() { events.append(event) }
        }
        byteCount += rest.count
        line += rest
        return events
    }

    private mutating func endLine() -> Event? {
        defer { line = [] }
        if line.last == UInt8(ascii: "\r") { line.removeLast() }
        guard !line.isEmpty else {
            defer { (name, data, byteCount) = ("", nil, 0) }
            return Event(name: name, data: data ?? [], byteCount: byteCount)
        }
        let colon = line.firstIndex(of: UInt8(ascii: ":")) ?? line.endIndex
        var value = line[colon...].dropFirst()
        if value.first == UInt8(ascii: " ") { value = value.dropFirst() }
        switch String(decoding: line[..<colon], as: UTF8.self) {
        case "event": name = String(decoding: value, as: UTF8.self)
        case "data":
            // In place: an event may have very many lines.
            if data == nil { data = [] } else { data?.append(UInt8(ascii: "\n")) }
            data?.append(contentsOf: value)
        default: break
        }
        return nil
    }
}
