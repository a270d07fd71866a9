import DocumentModel
package import EventDispatch
import StrictJSON
import Workers
package import Logging
import ServiceLifecycle

/// Sends alerts to the operator's URL, one at a time.
///
/// Up to 100 alerts are queued; callers never wait. When the host stops, those that are queued have 5 seconds. Alerts
/// that can't be sent are logged.
package final class WebhookSink: AlertSink, Service {
    /// Sends one body, and throws if the URL doesn't accept it.
    package typealias Post = @Sendable (_ body: [UInt8]) async throws(WebhookError) -> Void
    package typealias Sleep = @Sendable (Duration) async throws -> Void

    private static let bound = 100
    /// The delay before each retry.
    private static let pauses: [Duration] = [.seconds(1), .seconds(10), .seconds(60)]
    /// How long queued alerts are sent after the shutdown has begun.
    static let grace: Duration = .seconds(5)

    private let project: String
    private let post: Post
    private let sleep: Sleep
    private let logger: Logger
    private let alerts: AsyncStream<Alert>
    private let continuation: AsyncStream<Alert>.Continuation

    package init(
        project: String, logger: Logger, post: @escaping Post,
        sleep: @escaping Sleep = { try await Task.sleep(for: $0) }
    ) {
        self.project = project
        self.post = post
        self.sleep = sleep
        self.logger = logger
        (alerts, continuation) = AsyncStream.makeStream(bufferingPolicy: .bufferingOldest(Self.bound))
    }

    package func send(_ alert: Alert) {
        switch continuation.yield(alert) {
        case .dropped(let alert):
            logger.error("alert dropped because too many are queued", metadata: ["alert": "\(alert.message)"])
        case .terminated: logFailure(of: alert, Self.stopping)
        default: break
        }
    }

    package func run() async throws {
        await withTaskGroup(of: Void.self) { group in
            group.addTask { for await alert in self.alerts { await self.deliver(alert) } }
            group.addTask {
                guard (try? await gracefulShutdown()) != nil else { return }
                self.continuation.finish()
                try? await self.sleep(Self.grace)
            }
            _ = await group.next()
            group.cancelAll()
        }
        continuation.finish()
    }

    private func deliver(_ alert: Alert) async {
        // A cancelled stream still returns what is queued.
        guard !Task.isCancelled else { return logFailure(of: alert, Self.stopping) }
        let body = Self.body(alert, project: project)
        for pause in Self.pauses.map(Optional.some) + [nil] {
            do throws(WebhookError) {
                return try await post(body)
            } catch {
                guard let pause, error.isTransient, !Task.isShuttingDownGracefully else {
                    return logFailure(of: alert, error.message)
                }
                // A shutdown ends the pause, and one more attempt is made.
                try? await cancelWhenGracefulShutdown { [sleep] in try await sleep(pause) }
                guard !Task.isCancelled else { return logFailure(of: alert, error.message) }
            }
        }
    }

    private static let stopping = "the host is stopping"

    private func logFailure(of alert: Alert, _ reason: String) {
        logger.error("alert can't be sent", metadata: ["alert": "\(alert.message)", "error": "\(reason)"])
    }

    /// The JSON body of an alert.
    static func body(_ alert: Alert, project: String) -> [UInt8] {
        var text = JSONWriter()
        text.raw("{\"project\":")
        text.string(project)
        text.raw(",\"kind\":")
        text.string(alert.kind == .budgetWarning ? "warning" : "paused")
        text.raw(",\"function\":")
        text.string(alert.function)
        text.raw(",\"budget\":")
        text.string(alert.use.kind.rawValue)
        text.raw(",\"used\":")
        text.integer(alert.use.used)
        text.raw(",\"limit\":")
        text.integer(alert.use.limit)
        text.raw(",\"day\":")
        text.string(String(alert.time.rfc3339.prefix(10)))
        text.raw(",\"time\":")
        text.string(alert.time.rfc3339)
        text.raw(",\"message\":")
        text.string(alert.message)
        text.raw("}")
        return text.bytes
    }
}

/// Why the URL didn't accept an alert.
package struct WebhookError: Error, Hashable, Sendable {
    var message: String
    /// Whether a retry may succeed.
    var isTransient: Bool
}
