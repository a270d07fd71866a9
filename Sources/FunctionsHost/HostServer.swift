import ControlAPI
import DataDirectory
import Deployments
import DocumentModel
import EventDelivery
import EventDispatch
import EventsAPI
import FirestoreAPI
import FunctionManifest
import Gateway
package import HostConfiguration
import HostProcess
import IdentityProvider
import TokenVerification
import Workers
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
package import UnixSignals
import Synchronization

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The whole host, built from its configuration. All wiring stands here, for the command line and for tests.
package final class HostServer: Sendable {
    /// Where the host listens.
    package struct Addresses: Sendable, Equatable {
        package var host: String
        package var functions: Int
        package var firestore: Int
        /// Nil in production, which has no sign-in of its own.
        package var auth: Int?
        /// Nil in production, where functions alone enqueue and publish.
        package var events: Int?
    }

    private let configuration: HostConfiguration
    private let parts: HostParts
    private let served: ReleaseSwitch
    private let deployments: DeploymentService
    private let gateway: Gateway
    private let events: EventService
    /// Nil where the operator wants no alerts.
    private let webhook: WebhookSink?
    private let schedules: ScheduleRunner
    private let logger: Logger

    /// Opens the data directory, asks the bundles for their functions and takes the functions port.
    ///
    /// - Parameters:
    ///   - hostDirectory: where the running program stands, and products built with it.
    ///   - isEphemeral: whether the data go when the host ends, in place of `configuration.data`.
    ///   - isLocal: whether bundles are served as they are built, whatever releases were deployed.
    ///   - isWatched: whether bundles are built anew meanwhile, so that what is served must not be the file that is built.
    /// - Throws: an error whose description is a sentence for the operator. Nothing is left open then.
    package init(
        _ configuration: HostConfiguration, hostDirectory: String, isEphemeral: Bool = false, isLocal: Bool = false,
        isWatched: Bool = false, logger: Logger
    ) async throws {
        self.configuration = configuration
        self.logger = logger
        let parts = try HostParts(configuration, isEphemeral: isEphemeral, logger: logger)
        self.parts = parts
        do {
            let locator = BundleLocator(hostDirectory: hostDirectory)
            let releases = ReleaseStore(in: parts.directory)
            try releases.clean(keeping: configuration.releases.keep, drafts: true)
            let maker = ServedFunctionsMaker(
                configuration, store: parts.store, serving: parts.serving, logger: logger)
            let first = try await maker.make(
                try await Release.initial(
                    configuration, locator, releases, isLocal: isLocal,
                    copies: isWatched ? LocalCopies(in: parts.directory) : nil))
            let records = try await EventRecords.load(parts.store)
            // Before anybody can write: from then on functions are told.
            webhook = configuration.alerts.webhook.map { address in
                let client = WebhookClient(address: address)
                return WebhookSink(project: configuration.project, logger: logger) { body throws(WebhookError) in
                    try await client.post(body)
                }
            }
            events = try EventService(
                first.eventFunctions(on: parts.serving.invocationLoops), records: records,
                maxDepth: configuration.limits.eventDepth,
                parts: EventService.Parts(
                    store: parts.store, timer: LoopTimer(eventLoop: parts.serving.group.next()), now: Timestamp.now,
                    alerts: webhook, logger: logger))
            schedules = try ScheduleRunner(
                first.manifests, store: parts.store, now: Timestamp.now,
                alarm: EventLoopAlarm(parts.serving.group.next()),
                logger: logger)
            gateway = try await Self.gateway(configuration, parts: parts, routes: first.routes, logger: logger)
            served = ReleaseSwitch(first, events: events, schedules: schedules, loops: gateway.loops)
            deployments = DeploymentService(
                DeploymentService.Parts(
                    configuration: configuration, locator: locator, releases: releases,
                    copies: LocalCopies(in: parts.directory), served: served, store: parts.store, now: Timestamp.now,
                    logger: logger),
                maker: maker)
        } catch {
            await parts.close()
            throw error
        }
    }

    /// Serves until a graceful shutdown is over.
    ///
    /// - Parameters:
    ///   - gracefulShutdownSignals: which signals begin the shutdown.
    ///   - onReady: called once all ports answer.
    /// - Throws: an error whose description is a sentence for the operator.
    package func run(
        gracefulShutdownSignals: [UnixSignal] = [], onReady: @escaping @Sendable (Addresses) -> Void
    ) async throws {
        let listen = configuration.listen
        let functionsPort = gateway.port
        let isOpenToPrograms = configuration.mode == .development
        let logCgroups = parts.serving.logCgroups
        let readiness = Readiness(servers: 1 + (parts.signIn == nil ? 0 : 1) + (isOpenToPrograms ? 1 : 0)) { ports in
            logCgroups()
            onReady(
                Addresses(
                    host: listen.host, functions: functionsPort, firestore: ports["firestore"] ?? 0,
                    auth: ports["auth"], events: ports["events"]))
        }
        if let rules = configuration.rules {
            logger.notice(
                "rules are not evaluated yet; clients may do what the sample shop's rules say",
                metadata: ["rules": "\(rules)"])
        }
        var services: [any Service] = parts.serving.keyCaches
        if let webhook { services.append(webhook) }
        if let signIn = parts.signIn { services.append(authServer(signIn, readiness)) }
        if isOpenToPrograms { services.append(eventServer(readiness)) }
        // Deployments end first, then the dispatcher, so that nothing is started while what runs gets the time to end.
        services += [firestoreServer(readiness), gateway, schedules, controlServer(), events, deployments]
        served.begin()
        let group = ServiceGroup(
            configuration: .init(
                services: services.map { .init(service: $0) }, gracefulShutdownSignals: gracefulShutdownSignals,
                logger: libraryLogger))
        let result: Result<Void, any Error>
        do {
            try await group.run()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        served.stop()
        await served.kill()
        await events.finish()
        await parts.close()
        try result.get()
    }

    /// Serves a bundle of the configuration as it is built by now.
    ///
    /// - Parameter id: unlike that of any build before.
    /// - Throws: an error whose description is a sentence; what was served goes on then.
    package func reload(_ bundle: String, id: String) async throws {
        try await deployments.reload(bundle: bundle, id: id)
    }

    /// Serves bundles as they were built with the params that they are given by now.
    ///
    /// - Parameters:
    ///   - configuration: `functions.json` as it is by now; only what it says of params is taken from it.
    ///   - id: unlike that of any build before.
    /// - Returns: the bundles that were deployed, whose params stay what they were.
    /// - Throws: an error whose description is a sentence; what was served goes on then.
    package func reloadParams(_ configuration: HostConfiguration, id: String) async throws -> [String] {
        try await deployments.reloadParams(configuration, id: id)
    }

    /// A line on each function, for people.
    package var functionSummaries: [String] {
        served.current.manifests.map { function in
            let urls = function.regions.map { "/\(configuration.project)/\($0)/\(function.name)" }
            return "\(function.name)  \(function.trigger.summary(urls: urls))"
        }
    }

    // MARK: Parts

    private static func gateway(
        _ configuration: HostConfiguration, parts: HostParts, routes: RouteTable, logger: Logger
    ) async throws -> Gateway {
        let proxies = TrustedProxies(configuration.listen.trustedProxies.compactMap { AddressPrefix($0) })
        do {
            return try await parts.serving.gateway(
                host: configuration.listen.host, port: configuration.listen.functions, proxies: proxies,
                routes: routes, logger: logger)
        } catch {
            throw HostError.listening(on: configuration.listen.functions, name: "functions", configuration, error)
        }
    }

    private func firestoreServer(_ readiness: Readiness) -> any Service {
        let verifier = parts.serving.verifiers.idToken
        let principals = PrincipalReader(isDevelopment: configuration.mode == .development) { token in
            switch await verifier.verifyAfterFetch(token) {
            case .valid(let token):
                return ClientIdentity(uid: token.subject)
            case .invalid(let rejection): throw rejection
            case .needsKeys, .unavailable:
                throw DocumentError(.unavailable, "the keys to verify tokens can't be had at the moment")
            }
        }
        let responder = DocumentREST(
            database: parts.database, service: StoreDocumentService(parts.store, database: parts.database),
            isDevelopment: configuration.mode == .development,
            principals: principals, maxBodyBytes: min(configuration.limits.requestBody, DocumentREST.maxRequestBytes))
        return server(responder, port: configuration.listen.firestore, name: "firestore", readiness)
    }

    private func eventServer(_ readiness: Readiness) -> any Service {
        let responder = EventREST(
            project: configuration.project, store: parts.store,
            queues: { [served] in served.current.manifests.taskQueues },
            maxBodyBytes: configuration.limits.requestBody, metrics: metricsText)
        return server(responder, port: configuration.listen.events, name: "events", readiness)
    }

    /// The host's metrics as Prometheus reads them.
    private func metricsText() async throws(DocumentError) -> String {
        try await events.metricsText() + parts.serving.supervisor.metrics.text
    }

    private func controlServer() -> any Service {
        let data = DataTopic(service: DataService(parts.store, database: parts.database))
        let deliveries = DeliveryService(
            parts.store, database: parts.database, now: Timestamp.now, isRunning: events.isInFlight)
        let topics: [any ControlTopic] = [
            data, DeliveriesTopic(deliveries: deliveries, events: events), PauseTopic(events: events),
            MetricsTopic(text: metricsText), SchedulesTopic(runner: schedules), ReleasesTopic(deployments: deployments),
        ]
        return ControlServer(
            directory: parts.directory.path, topics: topics, group: parts.serving.group, logger: logger,
            libraryLogger: libraryLogger)
    }

    private func authServer(_ signIn: LocalSignIn, _ readiness: Readiness) -> any Service {
        let router = Router()
        IdentityToolkit(
            project: configuration.project, policy: configuration.mode.tokenPolicy, key: signIn.key,
            users: signIn.users
        ).addRoutes(to: router)
        return server(router.buildResponder(), port: configuration.listen.auth, name: "auth", readiness)
    }

    /// For the libraries underneath. What they log of their starts and ends tells an operator nothing, and where one
    /// fails the host ends with a sentence of its own; only `--verbose` shows theirs.
    private var libraryLogger: Logger {
        guard logger.logLevel > .debug else { return logger }
        var quiet = logger
        quiet.logLevel = .critical
        return quiet
    }

    private func server<Responder: HTTPResponder>(
        _ responder: Responder, port: Int, name: String, _ readiness: Readiness
    ) -> any Service where Responder.Context: InitializableFromSource<ApplicationRequestContextSource> {
        let application = Application(
            responder: responder,
            // Half-sent requests and idle connections end as they do on the functions port.
            server: .http1(configuration: .init(idleTimeout: .seconds(75))),
            configuration: .init(
                address: .hostname(configuration.listen.host, port: port), serverName: nil,
                availableConnectionsDelegate: MaximumAvailableConnections(
                    configuration.limits.connections, logger: libraryLogger)),
            onServerRunning: { channel in readiness.isRunning(name, port: channel.localAddress?.port ?? port) },
            eventLoopGroupProvider: .shared(parts.serving.group), logger: libraryLogger)
        return PortService(application: application, port: port, name: name, configuration: configuration)
    }
}

/// Calls back once every server listens.
private final class Readiness: Sendable {
    private let missing: Mutex<(count: Int, ports: [String: Int])>
    private let onReady: @Sendable ([String: Int]) -> Void

    init(servers: Int, onReady: @escaping @Sendable ([String: Int]) -> Void) {
        missing = Mutex((servers, [:]))
        self.onReady = onReady
    }

    func isRunning(_ name: String, port: Int) {
        let ports: [String: Int]? = missing.withLock { state in
            state.count -= 1
            state.ports[name] = port
            return state.count == 0 ? state.ports : nil
        }
        if let ports { onReady(ports) }
    }
}

/// A server on a port, whose failure to get it is told as a sentence.
private struct PortService<Application: ApplicationProtocol>: Service {
    let application: Application
    let port: Int
    let name: String
    let configuration: HostConfiguration

    func run() async throws {
        do {
            try await application.run()
        } catch {
            throw HostError.listening(on: port, name: name, configuration, error)
        }
    }
}

extension [FunctionManifest] {
    /// The regions of each that takes tasks.
    fileprivate var taskQueues: [String: [String]] {
        var queues: [String: [String]] = [:]
        for function in self {
            if case .task = function.trigger { queues[function.name] = function.regions }
        }
        return queues
    }
}

extension HostError {
    static func listening(
        on port: Int, name: String, _ configuration: HostConfiguration, _ error: any Error
    ) -> HostError {
        let place = "\(configuration.listen.host):\(port)"
        let change = "change listen.\(name) in \(configuration.places.file)"
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE:
            return HostError("the \(name) address \(place) is taken by another program; end it, or \(change)")
        case EACCES:
            return HostError("this user may not listen on \(place); use a port above 1023: \(change)")
        case EADDRNOTAVAIL:
            return HostError("this machine has no address \(configuration.listen.host); change listen.host")
        default:
            return HostError("the host can't listen on \(place): \(error)")
        }
    }
}
