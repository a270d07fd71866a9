/// A listen of a session: brings its events to the session's loop.
final class SessionListener: RealtimeListener {
    private let connection: RealtimeConnection
    private let id: RealtimeSession.ListenID

    init(_ connection: RealtimeConnection, _ id: RealtimeSession.ListenID) {
        self.connection = connection
        self.id = id
    }

    func receive(_ event: RealtimeListenEvent) { connection.loop.post(.event(self, event)) }

    /// Hands the event to the session. Called on its loop.
    func deliver(_ event: RealtimeListenEvent) { connection.received(event, of: id) }
}
