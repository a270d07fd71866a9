import DocumentModel
import Hummingbird

/// The host's metrics over the control socket: for the command `metrics`, and for whoever scrapes the socket itself.
struct MetricsTopic: ControlTopic {
    let text: @Sendable () async throws(DocumentError) -> String

    func addRoutes(to routes: RouterGroup<BasicRequestContext>, _ control: ControlServer) {
        routes.answer("metrics/text") { _ in try await text() }
        routes.get("metrics") { _, _ in
            do throws(DocumentError) {
                return MetricsText.response(try await text())
            } catch {
                return DocumentREST.error(error)
            }
        }
    }
}
