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
    let signingKey: SigningKey
    let users: UserStore
    let verifiers: TokenVerifiers
    let keyCaches: [any Service]
    let supervisor: WorkerSupervisor
    let group: MultiThreadedEventLoopGroup
    let invocationServices: InvocationServices
    let invocationLoops: [InvocationLoop]

    init(_ configuration: HostConfiguration, isEphemeral: Bool, logger: Logger) throws {
        directory = try isEphemeral ? DataDirectory.ephemeral() : DataDirectory.open(configuration.data)
        database = DatabaseID(project: configuration.project)
        do {
            engine = try SQLiteEngine(file: directory.file("documents.sqlite"))
            store = try DocumentStore(engine: engine, now: Timestamp.now)
            try store.start()
            signingKey = try SigningKey.load(in: directory.file("auth"))
            users = try UserStore(directory: directory.file("auth"))
        } catch {
            directory.close()
            throw error
        }
        let isRemote = RemoteKeySource.isUseful(forProject: configuration.project)
        let idTokenKeys = isRemote ? KeyCache(source: RemoteKeySource.googleIDTokens, logger: logger) : nil
        let appCheckKeys = isRemote ? KeyCache(source: RemoteKeySource.googleAppCheck, logger: logger) : nil
        keyCaches = [idTokenKeys, appCheckKeys].compactMap { $0 }
        let policy = configuration.mode.tokenPolicy
        verifiers = TokenVerifiers(
            idToken: TokenVerifier(
                kind: .idToken(project: configuration.project), policy: policy, localKeys: signingKey.keys,
                remoteKeys: idTokenKeys),
            appCheck: TokenVerifier(
                kind: .appCheck(project: configuration.project), policy: policy, remoteKeys: appCheckKeys))
        supervisor = WorkerSupervisor()
        // Workers need the cores more than the gateway does: one of its loops carries tens of thousands of calls a
        // second.
        group = MultiThreadedEventLoopGroup(numberOfThreads: max(1, System.coreCount / 2))
        let services = InvocationServices(store: store)
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
        try? users.close()
        await supervisor.shutdown()
        try? await group.shutdownGracefully()
        directory.close()
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
