package import DocumentModel
package import DocumentStore
import EventDelivery
package import FunctionManifest
import Workers
package import Logging
package import NIOCore

extension EventService {
    /// Creates a dispatcher on a store without the rest of a host, for measurements: no pauses, budgets or alerts.
    ///
    /// - Throws: ``DocumentPattern/Problem`` for a manifest that its own check refuses.
    package convenience init(
        _ functions: [(manifest: FunctionManifest, launcher: any DeliveryLauncher)], on store: DocumentStore,
        eventLoop: any EventLoop, logger: Logger
    ) throws(DocumentPattern.Problem) {
        try self.init(
            functions.map { function in
                Function(
                    manifest: function.manifest, gate: FunctionGate(now: Timestamp.wallClock),
                    launcher: function.launcher)
            },
            records: EventRecords(), maxDepth: 16,
            parts: Parts(
                store: store, timer: LoopTimer(eventLoop: eventLoop), now: Timestamp.wallClock, alerts: nil,
                logger: logger))
    }
}
