import CommitPipeline
package import DocumentModel

/// The undelivered events of a listener, and how it ended: a pure state machine.
struct ListenerQueue: Sendable {
    enum End: Hashable, Sendable {
        /// The listener was cancelled.
        case cancelled
        case failed(DocumentError)
        /// The listener receives this, and nothing else.
        case startOver(String)
    }

    /// What the next read returns.
    enum Answer: Hashable, Sendable {
        case event(ListenEvent)
        case failed(DocumentError)
        case end
    }

    private var events = IndexedQueue<SizedEvent>()
    /// The approximate number of bytes that wait.
    private(set) var bytes = 0
    private var ending: End?
    private(set) var isEnded = false
    /// The time of the last event that was delivered.
    private(set) var deliveredUpTo: Timestamp?
    private let maxEvents: Int
    private let maxBytes: Int

    init(maxEvents: Int, maxBytes: Int) {
        self.maxEvents = maxEvents
        self.maxBytes = maxBytes
    }

    var isEmpty: Bool { events.isEmpty }

    /// - Parameter news: events that are added together: the reader had no chance to take some of them before the
    ///   others.
    /// - Returns: false if the listener has ended, which includes ending now because too much is waiting.
    mutating func push(_ news: [SizedEvent]) -> Bool {
        guard !isEnded else { return false }
        let size = news.reduce(0) { $0 + $1.bytes }
        // An event that is too large by itself is accepted if no other waits.
        if !events.isEmpty, events.count + news.count > maxEvents || bytes + size > maxBytes {
            end(.startOver("more changes wait for the listener than may, the limit; it is read too slowly"))
            return false
        }
        for event in news { events.append(event) }
        bytes += size
        return true
    }

    /// Drops the waiting events.
    mutating func end(_ end: End) {
        guard !isEnded else { return }
        isEnded = true
        ending = end
        events = IndexedQueue()
        bytes = 0
    }

    /// - Returns: nil if the reader has to wait, or the next event is later.
    mutating func take(upTo time: Timestamp) -> Answer? {
        if let next = events.first?.event.time, next > time { return nil }
        return take()
    }

    /// - Returns: nil if the reader has to wait.
    mutating func take() -> Answer? {
        if let next = events.popFirst() {
            bytes -= next.bytes
            deliveredUpTo = next.event.time ?? deliveredUpTo
            return .event(next.event)
        }
        guard isEnded else { return nil }
        defer { ending = nil }
        switch ending {
        case .failed(let error): return .failed(error)
        case .startOver(let reason): return .event(.startOver(reason))
        case .cancelled, nil: return .end
        }
    }
}

/// An event, and the approximate number of bytes that it holds: found once for all listeners that receive it.
struct SizedEvent: Sendable {
    let event: ListenEvent
    let bytes: Int

    init(_ event: ListenEvent) { self.init(event, bytes: event.size) }

    init(_ event: ListenEvent, bytes: Int) {
        self.event = event
        self.bytes = bytes
    }
}

extension ListenEvent {
    /// The time of the result after this event.
    package var time: Timestamp? {
        switch self {
        case .initial(_, let time), .changes(_, let time), .count(_, let time): time
        case .startOver: nil
        }
    }

    /// The approximate number of bytes that it holds.
    var size: Int {
        switch self {
        case .initial(let documents, _): documents.reduce(128) { $0 + $1.weight }
        case .changes(let changes, _): changes.reduce(128) { $0 + $1.weight }
        case .count: 128
        case .startOver(let reason): reason.utf8.count
        }
    }
}

extension ListenChange {
    package var document: Document {
        switch self {
        case .added(let document), .modified(let document), .removed(let document, _, _): document
        }
    }

    /// About what its documents take in memory.
    fileprivate var weight: Int {
        if case .removed(let document, _, let now?) = self { document.weight + now.weight } else { document.weight }
    }
}
