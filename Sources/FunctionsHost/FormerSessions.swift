import RealtimeAPI
import ServiceLifecycle

/// Ends the sessions of Realtime Database clients that were connected when the host was killed, and don't come back: else they
/// would seem to be online forever.
struct FormerSessions: Service {
    let databases: StoreRealtimeService
    /// When the host has started, in milliseconds since 1970.
    let start: Int64
    /// How long clients have to come back.
    let pause: Duration

    func run() async throws {
        let isOver: Void? = try? await cancelWhenGracefulShutdown { try await Task.sleep(for: pause) }
        if isOver != nil { await databases.endFormerSessions(before: start) }
        try? await gracefulShutdown()
    }
}
