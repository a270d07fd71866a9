import FirestoreAPI
import ServiceLifecycle

/// Keeps the sessions of web clients alive, ends those that were left, and ends all with the host.
struct WebChannelSweep: Service {
    let service: WebChannelService

    func run() async throws {
        for await _ in AsyncTimer(interval: service.keepAlive / 2).cancelOnGracefulShutdown() { service.sweep() }
        service.close()
    }
}
