import RealtimeStore
import Synchronization

/// Sessions that have ended, but not all that they had registered could be done, such as while the disk is full. That is retried
/// until it is done; what the host's end leaves is done after its next start.
final class UnfinishedSessions: Sendable {
    private struct State {
        var sessions: Set<RealtimeDisconnectSession> = []
        /// Ends a session.
        var end: (@Sendable (RealtimeDisconnectSession) async -> Void)?
        var isTrying = false
    }

    private let state = Mutex(State())
    private let pause: Duration

    init(pause: Duration = .seconds(5)) { self.pause = pause }

    /// - Parameter end: ends a session, and adds it here again if that fails; nil once it has no purpose any more.
    func setEnd(_ end: (@Sendable (RealtimeDisconnectSession) async -> Void)?) { state.withLock { $0.end = end } }

    func add(_ session: RealtimeDisconnectSession) {
        let mustBegin = state.withLock { state in
            state.sessions.insert(session)
            defer { state.isTrying = true }
            return !state.isTrying
        }
        if mustBegin { Task { await run() } }
    }

    private func run() async {
        while true {
            try? await Task.sleep(for: pause)
            let (sessions, end) = state.withLock { state in
                defer { state.sessions = [] }
                return (state.sessions, state.end)
            }
            if let end { for session in sessions { await end(session) } }
            let isOver = state.withLock { state in
                state.isTrying = !state.sessions.isEmpty && state.end != nil
                return !state.isTrying
            }
            if isOver { return }
        }
    }
}
