import WorkerProtocol
import AppCheck
import ControlAPI
import DataDirectory
import Deployments
import DocumentModel
import DocumentStore
import EventDelivery
import EventDispatch
import EventsAPI
import FirestoreAPI
import FunctionManifest
import Gateway
package import HostConfiguration
package import HostProcess
import IdentityProvider
import RealtimeAPI
import RealtimeStore
import ServiceAccounts
import TokenVerification
import TransportSecurity
import UserStore
import Workers
import Hummingbird
import HummingbirdCore
package import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
package import UnixSignals

/// The complete host, built from its configuration. It contains all wiring, for the command line and for tests.
package final class HostServer: Sendable {
    /// The address and ports that the host listens on.
    package struct Addresses: Sendable, Equatable {
        /// `https` if the ports have TLS, else `http`.
        package var scheme: String
        package var host: String
        package var functions: Int
        package var firestore: Int
        package var database: Int
        /// Nil in production, which has no sign-in of its own.
        package var auth: Int?
        /// Nil in production, where only functions enqueue tasks and publish events.
        package var events: Int?
    }

    private let configuration: HostConfiguration
    private let parts: HostParts
    /// Nil for ports without TLS.
    private let tls: TLSPorts?
    private let served: ReleaseSwitch
    private let deployments: DeploymentService
    private let gateway: Gateway
    private let database: RealtimePort
    /// The Realtime Database's sessions that were open when the host ended.
    private let formerSessions: [RealtimeDisconnectSession]
    private let events: EventService
    /// How the codes of sign-in reach users.
    private let delivery: MessageDelivery
    /// Nil if no webhook is configured.
    private let webhook: WebhookSink?
    private let webChannel: WebChannelService
    private let figures = ClientFigures()
    private let apps: AppCheckGates
    private let schedules: ScheduleRunner
    private let logger: Logger

    /// Opens the data directory, loads the bundles' manifests and binds the functions port.
    ///
    /// - Parameters:
    ///   - hostDirectory: the directory of the running executable, and of products built together with it.
    ///   - isEphemeral: whether to use a temporary data directory instead of `configuration.data`.
    ///   - isLocal: whether to serve local builds only, and no deployed releases.
    ///   - console: where calls are logged; nil for nowhere.
    ///   - archive: the log that is kept in the data directory; nil for none.
    ///   - isWatched: whether bundles are rebuilt while the host runs, so that it must serve copies of the built files.
    ///   - imports: the export that the store starts with; nil for none.
    /// - Throws: an error whose description is a sentence for the operator. All parts are closed then.
    package init(
        _ configuration: HostConfiguration, hostDirectory: String, isEphemeral: Bool = false, isLocal: Bool = false,
        isWatched: Bool = false, imports: StartImport? = nil, console: LogWriter? = nil, archive: LogArchive? = nil,
        logger: Logger
    ) async throws {
        self.configuration = configuration
        self.logger = logger
        let tls = try Self.tls(configuration, logger)
        self.tls = tls
        delivery = try MessageDelivery(configuration)
        let parts = try HostParts(
            configuration, isEphemeral: isEphemeral, isLocal: isLocal, console: console, archive: archive,
            logger: logger)
        self.parts = parts
        apps = AppCheckGates(configuration.appCheck, verifier: parts.serving.verifiers.appCheck)
        webChannel = WebChannelService(
            parts.store, database: parts.database, service: parts.documents, rules: parts.rules.clients,
            limits: configuration.clients, answers: parts.serving.memory.answers, figures: figures)
        do {
            try await parts.begin()
            let locator = BundleLocator(hostDirectory: hostDirectory)
            let releases = parts.releases
            do { try releases.clean(keeping: configuration.releases.keep, drafts: true) } catch {
                // A host that serves local builds must start whatever the releases are like.
                guard isLocal else { throw error }
            }
            let maker = ServedFunctionsMaker(
                configuration, store: parts.store, serving: parts.serving, logger: logger)
            let first = try await maker.make(
                try await Release.initial(
                    configuration, locator, releases, isLocal: isLocal,
                    copies: isWatched ? LocalCopies(in: parts.directory) : nil))
            try await EarlierUsersFile(in: parts.directory.file("auth")).takeOver(by: parts.users, logger)
            let records = try await EventRecords.load(parts.store)
            // Must happen before anything can write: the event service registers the triggers that commits create
            // deliveries for.
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
                    store: parts.store, timer: LoopTimer(eventLoop: parts.serving.group.next()),
                    now: Timestamp.wallClock,
                    alerts: webhook, logger: logger))
            schedules = try ScheduleRunner(
                first.manifests, store: parts.store, now: Timestamp.wallClock,
                alarm: EventLoopAlarm(parts.serving.group.next()),
                logger: logger)
            // Late, so that no other mistake leaves a filled store behind, and before the first port is bound.
            try await imports?.run(
                parts.data(configuration),
                directory: isEphemeral ? nil : parts.directory.path, logger: logger)
            gateway = try await Self.gateway(
                configuration, parts: parts, routes: first.routes, tls: tls, logger: logger)
            formerSessions = try await Self.openDatabases(configuration, parts)
            database = try await DatabasePort(
                configuration: configuration, parts: parts, apps: apps.database, logger: logger
            ).start { [tls] in try tls?.secure($0, .http1) }
            served = ReleaseSwitch(first, events: events, schedules: schedules, loops: gateway.loops)
            deployments = DeploymentService(
                DeploymentService.Parts(
                    configuration: configuration, locator: locator, releases: releases,
                    copies: LocalCopies(in: parts.directory), served: served, rules: parts.rules,
                    store: parts.store,
                    now: Timestamp.wallClock,
                    logger: logger),
                maker: maker)
        } catch {
            await parts.close()
            throw error
        }
    }

    /// Serves until a graceful shutdown has ended.
    ///
    /// - Parameters:
    ///   - gracefulShutdownSignals: the signals that start the shutdown.
    ///   - onReady: called once all ports accept connections, and the control socket commands.
    /// - Throws: an error whose description is a sentence for the operator.
    package func run(
        gracefulShutdownSignals: [UnixSignal] = [], onReady: @escaping @Sendable (Addresses) -> Void
    ) async throws {
        let listen = configuration.listen
        let functionsPort = gateway.port
        let databasePort = database.port
        let servesEventsAPI = configuration.mode == .development
        let logCgroups = parts.serving.logCgroups
        let signInAddress = parts.signInAddress
        let readiness = Readiness(servers: 2 + (parts.signIn == nil ? 0 : 1) + (servesEventsAPI ? 1 : 0)) { ports in
            logCgroups()
            if let port = ports["auth"] { signInAddress.isOpen(at: port) }
            onReady(
                Addresses(
                    scheme: listen.tls == nil ? "http" : "https", host: listen.host, functions: functionsPort,
                    firestore: ports["firestore"] ?? 0, database: databasePort,
                    auth: ports["auth"], events: ports["events"]))
            ProcessLimits.releaseProgramPages()
        }
        let servers = PortServers(
            configuration: configuration, parts: parts, tls: tls, readiness: readiness, logger: libraryLogger)
        var services: [any Service] = parts.serving.keyCaches
        if let tls { services.append(tls) }
        if let webhook { services.append(webhook) }
        if configuration.mode == .development, !RulesWatch.files(of: configuration).isEmpty {
            services.append(
                RulesWatch(
                    configuration: configuration, rules: parts.rules, store: parts.store, loaded: parts.loadedRules,
                    logger: logger))
        }
        let toolkit = parts.signIn.map(identityToolkit)
        if let toolkit {
            let auth = AuthPort(configuration: configuration, parts: parts, apps: apps.auth)
            services += [toolkit.messageSender(logger: logger), auth.server(toolkit, servers)]
        }
        for (keys, tokens) in [(parts.signIn?.keys, "users"), (parts.appCheck?.keys, "App Check")] {
            guard let keys else { continue }
            services.append(KeyRotation(keys, of: tokens, days: configuration.auth.keyRotationDays, logger: logger))
        }
        if servesEventsAPI {
            let port = EventsPort(
                configuration: configuration, parts: parts, served: served, metrics: metrics, logger: logger)
            services.append(port.server(servers))
        }
        // Shutdown is in reverse order: deployments end first, then the dispatcher, so that nothing new starts while
        // running invocations end.
        let firestore = FirestorePort(
            configuration: configuration, parts: parts, webChannel: webChannel, figures: figures,
            apps: apps.firestore)
        services += firestore.services(servers)
        services.append(
            FormerSessions(
                databases: parts.databases, sessions: formerSessions,
                pause: .seconds(configuration.database.disconnectSeconds)))
        // Commands that wait for a run's end are answered by the end of the schedules: otherwise the control server would wait
        // for them.
        let control = controlServer(toolkit) { readiness.isRunning("control", port: 0) }
        services += [MemoryTrim(), gateway, database, control, schedules, events, deployments]
        served.begin()
        let group = ServiceGroup(
            configuration: .init(
                host: services, gracefulShutdownSignals: gracefulShutdownSignals, logger: libraryLogger))
        let result: Result<Void, any Error>
        do {
            try await group.run()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        served.stop()
        await served.kill()
        await schedules.finish()
        await events.finish()
        await parts.close()
        try result.get()
    }

    /// Serves the current local build of a bundle of the configuration.
    ///
    /// - Parameters:
    ///   - executable: what was built.
    ///   - id: the new build's id, which no build before had.
    /// - Throws: an error whose description is a sentence for the operator. The previous build is still served then.
    package func reload(_ bundle: String, executable: String, id: String) async throws {
        try await deployments.reload(bundle: bundle, executable: executable, id: id)
    }

    /// Switches the served local builds to new copies of them, which have the current values of params.
    ///
    /// - Parameters:
    ///   - configuration: the current content of `functions.json`. Only params and secrets are taken from it.
    ///   - id: the new builds' id, which no build before had.
    /// - Returns: the bundles that serve a deployed release; their params don't change.
    /// - Throws: an error whose description is a sentence for the operator. The previous build is still served then.
    package func reloadParams(_ configuration: HostConfiguration, id: String) async throws -> [String] {
        try await deployments.reloadParams(configuration, id: id)
    }

    /// One line about each bundle of the configuration that serves a deployed release and not its local build, and one
    /// about deployed rules.
    package var releaseNotes: [String] {
        let bundles = Set(configuration.bundles.map(\.name))
        let notes = served.current.deployed.filter { bundles.contains($0.bundle) }.map { bundle, release in
            "\(bundle) serves its deployed release \(release), not the local build: "
                + "\"serve --local\" ignores releases, \"undeploy \(bundle)\" removes it"
        }
        guard let release = parts.rules.release else { return notes }
        return notes + [
            "the rules and indexes are those of the deployed release \(release), not the files: "
                + "\"serve --local\" ignores releases, \"undeploy rules\" removes it"
        ]
    }

    package var hasRules: Bool { parts.rules.current.rules != nil }

    /// One line about each function, for the operator.
    package var functionSummaries: [String] {
        served.current.manifests.map { function in
            let urls = function.regions.map { "/\(configuration.project)/\($0)/\(function.name)" }
            return "\(function.name)  \(function.trigger.summary(urls: urls))"
        }
    }

    // MARK: Parts

    private static func tls(
        _ configuration: HostConfiguration, _ logger: Logger
    ) throws(ConfigurationError) -> TLSPorts? {
        guard let files = configuration.listen.tls else { return nil }
        do throws(TLSFilesError) {
            return try TLSPorts(
                TLSFiles(certificate: files.certificate, key: files.key),
                handshake: .seconds(Int64(configuration.limits.transferSeconds)), now: systemWallClock, logger: logger)
        } catch {
            throw configuration.problem(at: "listen.tls.\(error.file.rawValue)", error.description)
        }
    }

    /// Creates the databases that functions.json names, and in development serves those that were imported.
    ///
    /// - Returns: the sessions that were open when the host ended.
    private static func openDatabases(
        _ configuration: HostConfiguration, _ parts: HostParts
    ) async throws -> [RealtimeDisconnectSession] {
        try await parts.trees.declare(configuration.databaseNames)
        if configuration.mode == .development { parts.databases.add(try await parts.trees.namespaces()) }
        return try await parts.databases.formerSessions()
    }

    private static func gateway(
        _ configuration: HostConfiguration, parts: HostParts, routes: RouteTable, tls: TLSPorts?, logger: Logger
    ) async throws -> Gateway {
        do {
            return try await parts.serving.gateway(
                host: configuration.listen.host, port: configuration.listen.functions,
                proxies: configuration.trustedProxies,
                hosts: configuration.localHosts, routes: routes,
                secure: { try tls?.secure($0, .http1) }, logger: logger)
        } catch {
            throw HostError.listening(on: configuration.listen.functions, name: "functions", configuration, error)
        }
    }

    private var metrics: HostMetrics {
        HostMetrics(parts: parts, events: events, database: database, figures: figures, apps: apps)
    }

    private func controlServer(
        _ toolkit: IdentityToolkit?, onListening: @escaping @Sendable () -> Void
    ) -> any Service {
        let data = DataTopic(service: parts.data(configuration))
        let deliveries = DeliveryService(
            parts.store, database: parts.database, now: Timestamp.wallClock, isRunning: events.isInFlight)
        let topics: [any ControlTopic] = [
            data, DeliveriesTopic(deliveries: deliveries, events: events), PauseTopic(events: events),
            MetricsTopic(text: metrics.text),
            RulesTopic(parts.store, database: parts.database, rules: parts.rules.clients),
            DatabaseRulesTopic(parts.databases), SchedulesTopic(runner: schedules),
            KeysTopic(
                parts.serviceAccounts, signing: parts.signIn?.keys, appCheck: parts.appCheck?.keys),
            UsersTopic(toolkit.map { UserAdministration($0) }),
            ReleasesTopic(deployments: deployments),
            FunctionsTopic(
                .init(
                    project: configuration.project, served: served, loops: parts.serving.invocationLoops,
                    now: Timestamp.wallClock,
                    pauses: { [events] in
                        Dictionary(
                            events.pausedFunctions.map { ($0.function, $0.reason.rawValue) },
                            uniquingKeysWith: { first, _ in first })
                    })),
        ]
        return ControlServer(
            directory: parts.directory.path, topics: topics, group: parts.serving.group, logger: logger,
            libraryLogger: libraryLogger, onListening: onListening)
    }

    private func identityToolkit(_ signIn: LocalSignIn) -> IdentityToolkit {
        IdentityToolkit(
            configuration, parts.signInConfiguration, users: parts.users, signIn: signIn,
            accounts: parts.serviceAccounts,
            blocking: BlockingCalls(served: served, loops: parts.serving.invocationLoops), delivery: delivery,
            logger: logger)
    }

    /// The logger for libraries. Their messages about starts and stops don't help operators, and the host reports their
    /// failures itself; only `--verbose` shows them.
    private var libraryLogger: Logger {
        guard logger.logLevel > .debug else { return logger }
        var quiet = logger
        quiet.logLevel = .critical
        return quiet
    }
}
