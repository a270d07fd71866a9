import DocumentModel
import DocumentStore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle

/// The host's long-lived parts below its servers, opened in the order in which they rest on each other.
struct HostParts: Sendable {
    let directory: DataDirectory
    let database: DatabaseID
    let engine: SQLiteEngine
    let store: DocumentStore
    /// Nil in production, where only Google's tokens count.
    let signIn: LocalSignIn?
    let verifiers: TokenVerifiers
    let keyCaches: [any Service]
    let supervisor: WorkerSupervisor
    /// Says whether workers have cgroups, and why not. For when the host serves: what ends at its start says why, and no
    /// more.
    let logCgroups: @Sendable () -> Void
    let group: MultiThreadedEventLoopGroup
    let invocationServices: InvocationServices
    let invocationLoops: [InvocationLoop]

    init(_ configuration: HostConfiguration, isEphemeral: Bool, logger: Logger) throws {
        let indexes = try configuration.indexes.map { path throws(ConfigurationError) in try IndexFile.load(path) }
        directory = try isEphemeral ? DataDirectory.ephemeral() : DataDirectory.open(configuration.data)
        database = DatabaseID(project: configuration.project)
        do {
            signIn = configuration.mode == .development ? try LocalSignIn(directory: directory.file("auth")) : nil
            engine = try SQLiteEngine(file: directory.file(DataPlace.file))
        } catch {
            directory.close()
            throw error
        }
        do {
            var storeConfiguration = configuration.store.bounds
            storeConfiguration.onIndexEvent = { $0.log(to: logger) }
            storeConfiguration.onCostlyQuery = { $0.log(to: logger) }
            store = try DocumentStore(engine: engine, now: Timestamp.now, configuration: storeConfiguration)
            try store.start()
        } catch {
            try? engine.close()
            directory.close()
            throw error
        }
        store.configure(indexes ?? IndexFile(), logger: logger)
        let isRemote = RemoteKeySource.isUseful(forProject: configuration.project)
        let idTokenKeys = isRemote ? KeyCache(source: RemoteKeySource.googleIDTokens, logger: logger) : nil
        let appCheckKeys = isRemote ? KeyCache(source: RemoteKeySource.googleAppCheck, logger: logger) : nil
        keyCaches = [idTokenKeys, appCheckKeys].compactMap { $0 }
        let policy = configuration.mode.tokenPolicy
        verifiers = TokenVerifiers(
            idToken: TokenVerifier(
                kind: .idToken(project: configuration.project), policy: policy, localKeys: signIn?.key.keys ?? KeySet(),
                remoteKeys: idTokenKeys),
            sessionCookie: TokenVerifier(
                kind: .sessionCookie(project: configuration.project), policy: policy, remoteKeys: idTokenKeys),
            appCheck: TokenVerifier(
                kind: .appCheck(project: configuration.project), policy: policy, remoteKeys: appCheckKeys))
        let cgroups = configuration.limits.cgroupHome(logger)
        supervisor = WorkerSupervisor(cgroups: cgroups.home)
        logCgroups = cgroups.log
        // Workers need the cores more than the gateway does: one of its loops carries tens of thousands of calls a
        // second.
        group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, System.coreCount / 2))
        let services = InvocationServices(documents: store)
        invocationServices = services
        let ids = InvocationIDSource()
        invocationLoops = group.makeIterator().enumerated().map { index, loop in
            InvocationLoop(index: index, eventLoop: loop, idSource: ids)
        }
    }

    /// Closes everything. What was acknowledged is on disk already.
    func close() async {
        await store.shutdown()
        try? engine.close()
        try? signIn?.users.close()
        await supervisor.shutdown()
        try? await group.shutdownGracefully()
        directory.close()
    }
}

/// What anonymous sign-in on this host rests on.
struct LocalSignIn: Sendable {
    let key: SigningKey
    let users: UserStore

    init(directory: String) throws {
        key = try SigningKey.load(in: directory)
        users = try UserStore(directory: directory)
    }
}

extension HostConfiguration.Limits {
    /// Where workers get cgroups, if they are to have any and the host may make them.
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

extension HostConfiguration.Store {
    /// What of the past is kept, whoever opens the store.
    var bounds: StoreConfiguration {
        var bounds = StoreConfiguration()
        bounds.historyRetention = .seconds(historySeconds)
        bounds.maxHistoryBytes = historyMiB << 20
        return bounds
    }
}

extension HostConfiguration.Mode {
    var tokenPolicy: TokenPolicy {
        switch self {
        case .development: .development
        case .production: .production
        }
    }
}
