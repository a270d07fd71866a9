import Logging
import ServiceLifecycle
import UnixSignals

extension ServiceGroupConfiguration {
    /// Services of which one may fail, such as that of a port that is taken: the others then end as they do at a signal.
    ///
    /// Cancelled, as they would be else, a server drops connections that it has accepted and doesn't serve yet, and NIO
    /// ends the process for each (swift-nio #2637): the operator would read nothing of what has failed.
    init(host services: [any Service], gracefulShutdownSignals: [UnixSignal], logger: Logger) {
        self.init(
            services: services.map {
                ServiceConfiguration(service: $0, failureTerminationBehavior: .gracefullyShutdownGroup)
            },
            gracefulShutdownSignals: gracefulShutdownSignals, logger: logger)
    }
}
