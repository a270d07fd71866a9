import Logging
import ServiceLifecycle
import Synchronization
import TestSupport
import Testing

@testable import FunctionsHost

@Suite(.endsHangs) struct ServiceGroupTests {
    private struct Failure: Error {}

    private struct Failing: Service {
        func run() async throws { throw Failure() }
    }

    private final class Serving: Service {
        let wasStopped = Mutex(false)

        func run() async throws {
            // Throws if the service is cancelled.
            try await gracefulShutdown()
            wasStopped.withLock { $0 = true }
        }
    }

    /// A server that is cancelled with a connection that it has just accepted ends the process.
    @Test(arguments: [0, 1, 2]) func aServiceThatFailsStopsTheOthersAsASignalDoes(place: Int) async throws {
        let serving = [Serving(), Serving()]
        var services: [any Service] = serving
        services.insert(Failing(), at: place)
        let group = ServiceGroup(
            configuration: .init(
                host: services, gracefulShutdownSignals: [],
                logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() })))
        await #expect(throws: Failure.self) { try await group.run() }
        for service in serving { #expect(service.wasStopped.withLock { $0 }) }
    }
}
