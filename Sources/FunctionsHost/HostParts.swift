import AppCheck
import CommitPipeline
import ControlAPI
import DataDirectory
import EmbeddedStorage
import Deployments
import DocumentModel
package import DocumentStore
import FirestoreAPI
import FunctionStores
package import Gateway
import HostConfiguration
import HostProcess
import IdentityProvider
import SecurityRules
import RealtimeAPI
package import RealtimeStore
import ServiceAccounts
import StorageEngine
import Sharing
import TokenVerification
import UserModel
import UserStore
import WorkerProtocol
import Workers
import Logging
import NIOCore

/// The host's long-lived parts that its servers use, opened in the order of their dependencies.
package struct HostParts: Sendable {
    let directory: DataDirectory
    /// The log in a directory that is deleted when the host stops; nil for another directory.
    private let ephemeralLog: LogArchive?
    let database: DatabaseID
    let engine: any EmbeddedEngine
    package let store: DocumentStore
    let releases: ReleaseStore
    /// What clients may do with documents, and the indexes.
    let rules: RulesSwitch
    let loadedRules: RulesWatch.Stamp
    let users: UserStore
    package let trees: RealtimeStore
    let databases: StoreRealtimeService
    /// Where the Realtime Database's large values wait.
    let spool: Spool
    let signInAddress: SignInAddress
    let signInConfiguration: SignInConfiguration
    /// Nil in production where Google issues the users' tokens.
    let signIn: LocalSignIn?
    /// Issues App Check tokens; nil if no app is configured.
    let appCheck: AppCheckIssuer?
    let consumedTokens: any TokenConsumption
    /// The keys of servers, and what they present.
    let serviceAccounts: ServiceAccountStore
    let serverTokens: ServerTokens
    package let serving: ServingParts

    /// The documents as public APIs reach them.
    var documents: StoreDocumentService { StoreDocumentService(store, database: database, rules: rules.clients) }

    /// What data commands work on.
    func data(_ configuration: HostConfiguration) -> DataService {
        DataService(
            store, database: database, users: users,
            databases: DatabaseData(
                trees, configuration, directory: directory.path,
                triggerLimits: { [databases] in databases.triggerLimits(of: $0) }))
    }

    init(
        _ configuration: HostConfiguration, isEphemeral: Bool, isLocal: Bool, console: LogWriter?,
        archive: LogArchive?, logger: Logger
    ) throws {
        let isDevelopment = configuration.mode == .development
        loadedRules = RulesWatch.Stamp(RulesWatch.files(of: configuration))
        directory = try isEphemeral ? DataDirectory.ephemeral() : DataDirectory.open(configuration.data)
        ephemeralLog = isEphemeral ? archive : nil
        database = DatabaseID(project: configuration.project)
        releases = ReleaseStore(in: directory)
        let first: ServedRules
        do {
            signInConfiguration = try SignInConfiguration(configuration)
            first = try ServedRules.initial(configuration, releases, isLocal: isLocal)
            if !isLocal { try Release.checkDeployed(releases) }
            try archive?.open(in: directory.path, limits: configuration.logs.limits)
            signIn =
                configuration.hasUsers
                ? try LocalSignIn(configuration, directory: directory.file(KeyAccess.signingDirectory)) : nil
            appCheck = try AppCheckIssuer(configuration, directory: directory)
            serviceAccounts = try ServiceAccountStore(in: directory.file(KeyAccess.directory))
            engine = try EmbeddedStore(in: directory.path, engine: configuration.store.engine).open()
        } catch {
            directory.close()
            throw error
        }
        serverTokens = ServerTokens(serviceAccounts, project: configuration.project)
        do {
            var storeConfiguration = StoreConfiguration()
            let limits = configuration.limits
            storeConfiguration.clientQueryLimits = QueryLimits(
                entries: limits.queryEntries, documents: limits.queryDocuments, time: .seconds(limits.querySeconds))
            storeConfiguration.maxClientCommitCost = limits.commitChanges
            storeConfiguration.apply(configuration.clients.listen)
            storeConfiguration.onIndexEvent = { $0.log(to: logger) }
            storeConfiguration.onCostlyQuery = { $0.log(to: logger) }
            var commits = configuration.store.commitConfiguration
            commits.onRefusal = { error in
                guard let error else { return logger.notice("commits are kept again") }
                logger.error("commits are refused", metadata: ["error": "\(error.message)"])
            }
            commits.onDamage = { work, error in
                logger.error(
                    "rows can't be read, and work on them doesn't go on; see \"functions-host data check\"",
                    metadata: ["work": "\(work)", "error": "\(error.message)"])
            }
            store = try DocumentStore(
                engine: engine, now: Timestamp.wallClock, configuration: storeConfiguration, commits: commits)
            users = try UserStore(on: store.pipeline, project: configuration.project)
            var treeConfiguration = RealtimeStoreConfiguration()
            treeConfiguration.createsNamespaces = isDevelopment
            treeConfiguration.limits.maxQueryNodes = configuration.database.unindexedNodes
            treeConfiguration.maxRefreshedBytes = configuration.database.unreadPushes
            trees = try RealtimeStore(on: store.pipeline, configuration: treeConfiguration)
            for (name, reason) in trees.damagedNamespaces {
                logger.error(
                    "a Realtime Database can't be read, because the store is damaged; restore a backup",
                    metadata: ["database.name": "\(name)", "error": "\(reason)"])
            }
            try store.start()
        } catch {
            try? engine.close()
            directory.close()
            throw error
        }
        let address = SignInAddress(configuration.listen)
        signInAddress = address
        let spool = Spool(directory: directory.path)
        self.spool = spool
        let databases = StoreRealtimeService(
            trees, names: configuration.databaseNames, isDevelopment: isDevelopment, spool: spool,
            logger: logger,
            now: { Timestamp.wallClock().microseconds / 1000 })
        self.databases = databases
        let functionUsers: FunctionUsers? =
            if let signIn {
                FunctionUsers(
                    IdentityToolkit(
                        configuration, signInConfiguration, users: users, signIn: signIn, accounts: serviceAccounts,
                        logger: logger),
                    address: { address.text })
            } else { nil }
        let functionDatabases = FunctionDatabases(
            trees,
            names: FunctionDatabases.Names(
                own: configuration.defaultNamespace, triggerLimits: { databases.triggerLimits(of: $0) },
                onMissingIndex: { databases.note($1, withoutIndexAt: $2, in: $0) }))
        let backends = FunctionBackends(
            documents: store,
            users: functionUsers
                ?? UnavailableUsers(
                    "this host has no users of its own: Google signs them in. Set auth.issuer in functions.json to "
                        + "\"own\" to have them here, or manage Google's with an Admin SDK"),
            databases: functionDatabases,
            transactions: FunctionTransactions(store, users: functionUsers, databases: functionDatabases))
        let isRemote = RemoteKeySource.isUseful(forProject: configuration.project)
        // Who has a project of the same name at Google could sign in as anyone here.
        let acceptsGoogles = isDevelopment || configuration.auth.issuer == .google
        var tokens = TokenSources(
            project: configuration.project, policy: configuration.mode.tokenPolicy,
            localKeys: signIn?.keys?.verification ?? LocalKeys(),
            idTokenKeys: isRemote && acceptsGoogles
                ? KeyCache(source: RemoteKeySource.googleIDTokens, logger: logger) : nil,
            // The number says that the operator has the project at Google.
            appCheckKeys: isRemote && (acceptsGoogles || configuration.auth.projectNumber != nil)
                ? KeyCache(source: RemoteKeySource.googleAppCheck, logger: logger) : nil)
        if isRemote, acceptsGoogles {
            tokens.sessionCookieKeys = KeyCache(source: RemoteKeySource.googleSessionCookies, logger: logger)
        }
        if let appCheck {
            tokens.localAppCheckKeys = appCheck.keys.verification
            tokens.localApps = appCheck.appIDs
        }
        tokens.projectNumber = configuration.auth.projectNumber
        tokens.appCheckMode = AppCheckGate.Mode(configuration.appCheck.functions)
        consumedTokens = StoredTokenConsumption(users)
        serving = ServingParts(
            InvocationServices(
                backends, limits: configuration.limits,
                recordCalls: console.map { CallLog(console: $0, archive: archive?.writer).recorder },
                recordsAllCalls: configuration.logs.calls),
            tokens: tokens,
            limits: configuration.limits, connections: ProcessLimits.connections, consumedTokens: consumedTokens,
            adoptsOrphans: ProcessLimits.isFirstProcess, logger: logger)
        rules = RulesSwitch(
            ClientRules(serving.refusals, isDevelopment: isDevelopment), first, isDevelopment: isDevelopment,
            logger: logger, databaseRules: { databases.serve($0?.ruleset) })
    }

    /// Serves the rules, and builds their indexes. Those that were uploaded for a database come first: if the project's came
    /// first, each start would drop the indexes of the others and rebuild them.
    ///
    /// - Throws: `RealtimeFailure` if the uploaded rules can't be read.
    func begin() async throws {
        try await databases.restore()
        rules.begin(store)
    }

    /// Closes all parts. Acknowledged writes are already on disk.
    func close() async {
        databases.stop()
        await store.shutdown()
        try? engine.close()
        await signIn?.passwords.close()
        await serving.close()
        ephemeralLog?.close()
        directory.close()
    }
}

/// What this host's own sign-in needs beside the users.
struct LocalSignIn: Sendable {
    /// Nil in development, unless its tokens are signed.
    let keys: SigningKeys?
    let passwords: PasswordHasher

    init(_ configuration: HostConfiguration, directory: String) throws {
        keys = configuration.signsTokens ? try SigningKeys(in: directory) : nil
        // 1 KiB of memory for each unit of the cost.
        passwords = PasswordHasher(
            cost: configuration.auth.passwords.hashMiB << 10,
            threads: configuration.auth.passwords.threads ?? max(1, System.coreCount / 2))
    }
}

extension HostConfiguration.Logs {
    var limits: LogFiles.Limits {
        var limits = LogFiles.Limits()
        limits.bytes = mebibytes << 20
        limits.age = .seconds(days * 86_400)
        return limits
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
