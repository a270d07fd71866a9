/// A listener whose events are brought to a loop.
protocol LoopListener: RealtimeListener {
    /// Called on the loop.
    func deliver(_ event: RealtimeListenEvent)
}

/// A listen of a session: brings its events to the session's loop.
final class SessionListener: LoopListener {
    private let connection: RealtimeConnection
    /// That of the connection. Pushes to many listeners come from one thread, whose time this saves.
    private let queue: ConnectionQueue
    private let id: RealtimeSession.ListenID

    init(_ connection: RealtimeConnection, _ id: RealtimeSession.ListenID) {
        self.connection = connection
        queue = connection.queue
        self.id = id
    }

    func receive(_ event: RealtimeListenEvent) { queue.post(.event(self, event)) }

    /// Hands the event to the session.
    func deliver(_ event: RealtimeListenEvent) { connection.received(event, of: id) }
}
