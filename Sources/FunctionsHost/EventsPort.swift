import Deployments
import EventsAPI
import FunctionManifest
import HostConfiguration
import Hummingbird
import Logging
import ServiceAccounts
import ServiceLifecycle
import Workers

/// The events port: tasks and events over HTTP, and the host's metrics.
struct EventsPort {
    let configuration: HostConfiguration
    let parts: HostParts
    let served: ReleaseSwitch
    let metrics: HostMetrics
    let logger: Logger

    func server(_ servers: PortServers) -> any Service {
        let responder = EventREST(
            project: configuration.project, store: parts.store,
            queues: { [served] in served.current.manifests.taskQueues },
            maxBodyBytes: configuration.limits.requestBody,
            isServer: { [servers = parts.serverTokens] in servers.verify($0) != nil }, logger: logger,
            metrics: metrics.text)
        return servers.server(
            responder, port: configuration.listen.events, name: "events",
            servers.rules("events"))
    }
}

extension [FunctionManifest] {
    /// The regions of each task queue, by name.
    fileprivate var taskQueues: [String: [String]] {
        var queues: [String: [String]] = [:]
        for function in self {
            if case .task = function.trigger { queues[function.name] = function.regions }
        }
        return queues
    }
}
