import RealtimeModel
import StrictJSON

/// Something that was done on a database, as `firebase database:profile` reads it. The names and members are those of
/// firebase-tools' report.
struct ProfiledOperation: Sendable {
    enum Name: String, Sendable {
        case connect = "concurrent-connect"
        case disconnect = "concurrent-disconnect"
        /// Requests of sessions: by WebSocket or long polling.
        case read = "realtime-read"
        case write = "realtime-write"
        case update = "realtime-update"
        case transaction = "realtime-transaction"
        /// Listens of sessions, and event streams.
        case listen = "listener-listen"
        case broadcast = "listener-broadcast"
        case unlisten = "listener-unlisten"
        case restRead = "rest-read"
        case restWrite = "rest-write"
        case restUpdate = "rest-update"
    }

    var name: Name
    /// Nil for what has no place in the database.
    var path: RealtimePath?
    /// From the request to its answer.
    var milliseconds: Int64?
    /// Of the data as JSON, about. A value that is streamed has none.
    var bytes: Int?
    /// Whether the rules allow it.
    var isAllowed: Bool?
    /// How many listens a change was sent to.
    var listens: Int?
    /// The order of a query that has no index.
    var unindexed: RealtimeQuery.Index?

    init(_ name: Name, at path: RealtimePath? = nil) {
        self.name = name
        self.path = path
    }

    init(_ read: RealtimeRead, of client: RealtimeClient) {
        self.init(client.isSession ? .read : .restRead, at: read.path)
    }

    init(_ write: RealtimeWrite, of client: RealtimeClient) {
        switch write {
        case .set(let target, let value, let hash):
            self.init(client.isSession ? (hash == nil ? .write : .transaction) : .restWrite, at: target.path)
            bytes = value.staged == nil ? value.json.count : nil
        case .update(let update):
            // Where all of it is.
            let first = update.entries.first?.target.path ?? .root
            let path = update.entries.reduce(first) { $0.commonAncestor(with: $1.target.path) }
            self.init(client.isSession ? .update : .restUpdate, at: path)
            bytes = update.entries.reduce(0) { $0 + $1.value.json.count }
        }
    }

    /// - Parameter now: milliseconds since 1970.
    func json(at now: Int64) -> [UInt8] {
        var writer = JSONWriter(capacity: 160)
        writer.raw(#"{"name":"#)
        writer.string(name.rawValue)
        writer.raw(#","timestamp":"#)
        writer.integer(now)
        func member(_ opening: StaticString, _ value: Int64?) {
            guard let value else { return }
            writer.raw(opening)
            writer.integer(value)
        }
        if let path {
            writer.raw(#","path":"#)
            writer.array(path.keys) { $0.string($1.string) }
        }
        member(#","millis":"#, milliseconds)
        member(#","bytes":"#, bytes.map { Int64($0) })
        member(#","clientsUpdated":"#, listens.map { Int64($0) })
        if let isAllowed {
            writer.raw(#","allowed":"#)
            writer.boolean(isAllowed)
        }
        if let unindexed {
            writer.raw(#","unIndexed":true,"querySet":[{"index":{"#)
            if case .child(let path) = unindexed {
                writer.raw(#""path":"#)
                writer.array(path.keys) { $0.string($1.string) }
            }
            writer.raw("}}]")
        }
        writer.raw("}")
        return writer.bytes
    }
}
