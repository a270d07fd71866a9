import DocumentModel
import DocumentStore
import EventDispatch
import EventsAPI
import FirestoreAPI
import Gateway
import RealtimeAPI
import TokenVerification
import Workers

/// The host's metrics, of all its parts.
struct HostMetrics: Sendable {
    let parts: HostParts
    let events: EventService
    let database: RealtimePort
    let figures: ClientFigures
    let apps: AppCheckGates

    /// The metrics in Prometheus' text format.
    func text() async throws(DocumentError) -> String {
        let (listeners, unreadBytes) = parts.store.listenerFigures
        return try await events.metricsText() + parts.serving.callMetrics.text + parts.serving.workerMetrics
            + parts.serving.memory.metrics + figures.metrics(listeners: listeners, unreadBytes: unreadBytes)
            + (await database.metricsText()) + parts.databases.metricsText
            + AppCheckFigures.metrics(
                [parts.serving.verifiers.appCheckGate, apps.firestore, apps.database, apps.auth].compactMap {
                    $0?.figures
                })
    }
}
