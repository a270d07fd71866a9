import HostProcess
import ServiceLifecycle

/// Returns to the system what bursts of large requests leave in the allocator's hands, which keeps it otherwise.
struct MemoryTrim: Service {
    private static let interval = Duration.seconds(10)

    func run() async throws {
        for await _ in AsyncTimer(interval: Self.interval).cancelOnGracefulShutdown() {
            ProcessLimits.trimFreedMemory()
        }
    }
}
