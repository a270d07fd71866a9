import DocumentModel
import Hummingbird

/// The host's metrics over the control socket: for the command `metrics`, and for whoever scrapes the socket itself.
struct MetricsTopic: ControlTopic {
    let events: EventService

    func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("metrics/text") { _ in try await events.metricsText() }
        routes.get("metrics") { _, _ in
            do throws(DocumentError) {
                return MetricsText.response(try await events.metricsText())
            } catch {
                return DocumentREST.error(error)
            }
        }
    }
}
