import RealtimeAPI
import RealtimeStore
import ServiceLifecycle

/// Ends the sessions of Realtime Database clients that were connected when the host was killed, and don't come back: else they
/// would seem to be online forever.
struct FormerSessions: Service {
    let databases: StoreRealtimeService
    let sessions: [RealtimeDisconnectSession]
    /// How long clients have to come back.
    let pause: Duration

    func run() async throws {
        let isOver: Void? = try? await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
        if isOver != nil { for session in sessions { await databases.end(session) } }
        try? await gracefulShutdown()
    }
}
