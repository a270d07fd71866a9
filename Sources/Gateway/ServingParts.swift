package import FunctionManifest
package import TokenVerification
package import Sharing
package import WorkerProtocol
package import Workers
package import Logging
package import NIOCore
package import NIOPosix
package import ServiceLifecycle

/// What serving functions needs, under a host or standalone: token keys, event loops, and the supervisor of workers.
package struct ServingParts: Sendable {
    package let verifiers: TokenVerifiers
    package let keyCaches: [any Service]
    package let supervisor: WorkerSupervisor
    /// Logs whether workers have cgroups, and why not. Call it only once the host serves: a failed start logs its own
    /// reason only.
    package let logCgroups: @Sendable () -> Void
    package let group: MultiThreadedEventLoopGroup
    let invocationServices: InvocationServices
    package let invocationLoops: [InvocationLoop]
    /// What the bodies and answers of all ports use.
    package let memory: PortMemory
    /// Logs what the ports refuse.
    package let refusals: RefusalLogger
    /// The connections of all ports.
    package let connections: FairShares<IPAddress>
    private let limits: HostLimits
    private let consumedTokens: any TokenConsumption

    /// - Parameters:
    ///   - connections: how many the process may have on all ports.
    ///   - consumedTokens: records the App Check tokens that functions consume.
    ///   - adoptsOrphans: see ``WorkerSupervisor/init(cgroups:adoptsOrphans:)``.
    package init(
        _ services: InvocationServices, tokens: TokenSources, limits: HostLimits, connections: Int,
        consumedTokens: any TokenConsumption = ConsumedTokens(), adoptsOrphans: Bool = false, logger: Logger
    ) {
        self.limits = limits
        self.consumedTokens = consumedTokens
        memory = PortMemory(bodies: limits.allBodies, answers: limits.allAnswers)
        refusals = RefusalLogger(logger)
        self.connections = FairShares(total: connections)
        invocationServices = services
        verifiers = TokenVerifiers(tokens)
        keyCaches = tokens.keyCaches
        let cgroups = limits.cgroupHome(logger)
        supervisor = WorkerSupervisor(cgroups: cgroups.home, adoptsOrphans: adoptsOrphans)
        logCgroups = cgroups.log
        group = MultiThreadedEventLoopGroup(numberOfThreads: Self.loopCount(processors: System.coreCount))
        let ids = InvocationIDSource()
        invocationLoops = group.makeIterator().enumerated().map { index, loop in
            InvocationLoop(index: index, eventLoop: loop, idSource: ids)
        }
    }

    /// Workers need the processors more than the gateway does: one of its loops handles tens of thousands of calls per
    /// second. Each worker has a link to each loop, and accepts only so many.
    static func loopCount(processors: Int) -> Int { min(max(1, processors / 2), WorkerEnvironment.maxLinks) }

    package var callMetrics: CallMetrics { invocationServices.calls }

    /// What workers use, in the Prometheus format.
    package var workerMetrics: String { supervisor.metrics.text + invocationServices.operationBytes.metrics }

    /// - Returns: a function's pool; no worker is started yet.
    package func pool(
        _ manifest: FunctionManifest, executable: String, environment: [String: String], params: ParamValues
    ) -> WorkerPool {
        WorkerPool(
            name: manifest.name,
            limits: WorkerPoolState.Limits(
                concurrency: manifest.concurrency, minInstances: manifest.minInstances,
                maxInstances: manifest.maxInstances,
                // The dispatcher bounds its events itself, so the queue has a place for each of them.
                queue: manifest.trigger.isForEvents ? manifest.maxConcurrentDeliveries : limits.queue,
                maxStarting: 2 * System.coreCount, runsDeliveries: manifest.trigger.isForEvents),
            launch: WorkerLaunch(
                executable: executable, environment: environment, params: params,
                limits: WorkerLimits(manifest, limits)),
            services: invocationServices, processes: supervisor, loops: invocationLoops)
    }

    /// Listens on the functions port.
    ///
    /// - Parameters:
    ///   - hosts: the hosts that requests may be for; nil in production.
    ///   - secure: adds TLS to a connection.
    package func gateway(
        host: String, port: Int, proxies: TrustedProxies, hosts: LocalHosts?, routes: RouteTable,
        secure: @escaping @Sendable (any Channel) throws -> Void = { _ in }, logger: Logger
    ) async throws -> Gateway {
        let gatewayLimits = GatewayLimits(requestBody: limits.requestBody, times: limits.portTimes)
        let shares = ConnectionShares(
            limits.connections, of: connections, proxies: proxies, refusals: refusals, port: "functions")
        let loops = invocationLoops.map {
            GatewayLoop(
                invocations: $0, verifiers: verifiers, consumedTokens: consumedTokens, limits: gatewayLimits,
                memory: memory, proxies: proxies, hosts: hosts, refusals: refusals, logger: logger,
                routes: routes)
        }
        return try await Gateway.start(
            group: group, loops: loops, services: invocationServices, host: host, port: port,
            grace: .seconds(Int64(limits.shutdownGrace)), watch: shares.watch
        ) { channel in
            try shares.admit(channel)
            try secure(channel)
        }
    }

    /// Call when no worker is left.
    package func close() async {
        refusals.logLeftOut(now: .distantFuture)
        for loop in invocationLoops {
            try? await loop.eventLoop.submit { [invocationServices] in loop.passOnRecords(invocationServices) }.get()
        }
        await supervisor.shutdown()
        try? await group.shutdownGracefully()
    }
}

/// The issuers whose tokens are accepted, and where their keys come from.
package struct TokenSources: Sendable {
    package var project: String
    package var policy: TokenPolicy
    /// The host's own.
    package var localKeys: LocalKeys
    /// Nil if only the host's own keys are accepted.
    package var idTokenKeys: KeyCache?
    package var sessionCookieKeys: KeyCache?
    package var appCheckKeys: KeyCache?
    /// Whether Google's sign-in may ask blocking functions at their URLs.
    package var servesBlockingEvents = false
    /// The host's own, for App Check tokens.
    package var localAppCheckKeys = LocalKeys()
    /// The apps whose App Check tokens from this host are good.
    package var localApps: Set<String> = []
    /// The project's number, by which App Check tokens may name it.
    package var projectNumber: String?
    /// What functions demand of apps beside their own options.
    package var appCheckMode = AppCheckGate.Mode.off

    /// Each of them once: an emulator has the same keys for ID tokens and session cookies.
    var keyCaches: [KeyCache] {
        var caches: [KeyCache] = []
        for cache in [idTokenKeys, sessionCookieKeys, appCheckKeys].compactMap(\.self)
        where !caches.contains(where: { $0 === cache }) {
            caches.append(cache)
        }
        return caches
    }

    package init(
        project: String, policy: TokenPolicy, localKeys: LocalKeys = LocalKeys(), idTokenKeys: KeyCache? = nil,
        appCheckKeys: KeyCache? = nil
    ) {
        self.project = project
        self.policy = policy
        self.localKeys = localKeys
        self.idTokenKeys = idTokenKeys
        self.appCheckKeys = appCheckKeys
    }
}

extension TokenVerifiers {
    init(_ sources: TokenSources) {
        let (project, policy) = (sources.project, sources.policy)
        self.init(
            idToken: TokenVerifier(
                kind: .idToken(project: project), policy: policy, localKeys: sources.localKeys,
                remoteKeys: sources.idTokenKeys),
            sessionCookie: TokenVerifier(
                kind: .sessionCookie(project: project), policy: policy, localKeys: sources.localKeys,
                remoteKeys: sources.sessionCookieKeys),
            appCheck: TokenVerifier(
                kind: .appCheck(project: project, projectNumber: sources.projectNumber), policy: policy,
                localKeys: sources.localAppCheckKeys, localSubjects: sources.localApps, remoteKeys: sources.appCheckKeys
            ))
        if sources.servesBlockingEvents {
            blockingEvent = TokenVerifier(
                kind: .blockingEvent(project: project), policy: policy, localKeys: sources.localKeys,
                remoteKeys: sources.idTokenKeys)
        }
        if sources.appCheckMode != .off {
            appCheckGate = AppCheckGate(
                sources.appCheckMode, figures: AppCheckFigures(service: "functions"), verifier: appCheck)
        }
    }
}

extension HostLimits {
    package var portTimes: PortTimes {
        PortTimes(transfer: .seconds(Int64(transferSeconds)), grace: .seconds(Int64(shutdownGrace)))
    }

    /// The home of the workers' cgroups, if they are configured and the host may create them.
    fileprivate func cgroupHome(_ logger: Logger) -> (home: CgroupHome?, log: @Sendable () -> Void) {
        guard cgroups == .auto else { return (nil, {}) }
        do throws(CgroupHome.Refusal) {
            let home = try CgroupHome.own()
            return (home, { logger.info("workers have cgroups of their own", metadata: ["cgroup": "\(home.path)"]) })
        } catch {
            return (
                nil, { logger.info("workers have no cgroups of their own", metadata: ["reason": "\(error)"]) }
            )
        }
    }
}
