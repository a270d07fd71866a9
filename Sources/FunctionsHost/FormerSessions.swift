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
        // The host's stop doesn't wait for all of them: there may be thousands, each with a sync of its own.
        try? await cancelWhenGracefulShutdown {
            try await Task.sleep(for: pause)
            await databases.end(sessions)
        }
        try? await gracefulShutdown()
    }
}
