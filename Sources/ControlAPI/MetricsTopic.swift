import ControlProtocol
import DocumentModel
package import EventsAPI
import GoogleREST
package import Hummingbird

/// The host's metrics over the control socket: for the command `metrics`, and at `/v1/metrics` for scrapers that can
/// read from a Unix socket.
package struct MetricsTopic: ControlTopic {
    package let text: MetricsSource

    package init(text: @escaping MetricsSource) {
        self.text = text
    }

    package func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("metrics/text") { _ in try await text() }
        routes.get("metrics") { _, _ in
            do throws(DocumentError) {
                return MetricsText.response(try await text())
            } catch {
                return RESTResponse.error(error)
            }
        }
    }
}
