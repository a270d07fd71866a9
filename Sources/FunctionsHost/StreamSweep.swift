import FirestoreAPI
import ServiceLifecycle

/// Keeps the streams of clients alive, ends those that were left, and ends those of web clients with the host.
struct StreamSweep: Service {
    let webChannel: WebChannelService
    let calls: FirestoreCalls
    /// How often quiet Listen streams report that nothing has changed. Less than the time that changes are kept: a client
    /// continues from the last report, and need not read everything again.
    let refresh: Duration

    func run() async throws {
        let interval = webChannel.keepAlive / 2
        var sinceRefresh = Duration.zero
        for await _ in AsyncTimer(interval: interval).cancelOnGracefulShutdown() {
            webChannel.sweep()
            sinceRefresh += interval
            guard sinceRefresh >= refresh else { continue }
            sinceRefresh = .zero
            webChannel.refresh()
            calls.refresh()
        }
        await webChannel.close()
    }
}
