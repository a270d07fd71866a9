import DocumentModel
import FirestoreClient
package import FunctionManifest
import Gateway
import HostProcess
import IdentityToolkitClient
import OutboundHTTP
import RealtimeDatabaseClient
import TokenVerification
import WorkerProtocol
package import Workers
package import Logging
import NIOCore
import ServiceLifecycle
package import UnixSignals

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// One bundle's callable and HTTP functions on one port, without a host: no data directory, no sign-in, no events.
///
/// Everything on a request's way is the host's own, workers in processes of their own among it.
package final class BundleServer: Sendable {
    /// What is served.
    package struct Bundle: Sendable {
        var name: String
        var manifest: Manifest
        /// The program that takes `worker NAME`.
        var executable: String

        package init(name: String, manifest: Manifest, executable: String) {
            self.name = name
            self.manifest = manifest
            self.executable = executable
        }
    }

    private let parts: ServingParts
    private let documents: RemoteFirestore
    private let functions: [ServedFunction]
    private let gateway: Gateway
    private let logger: Logger

    /// Platforms kill what hasn't ended ten seconds after SIGTERM.
    private static let shutdownGrace = 8

    /// Takes the port.
    ///
    /// - Parameters:
    ///   - calls: where calls are logged.
    ///   - logsAllCalls: whether all are; otherwise only those whose deadline passed, on a platform that logs requests
    ///     itself.
    /// - Throws: an error whose description is a sentence for the operator. Nothing is left open then.
    package init(
        _ bundle: Bundle, in environment: ServingEnvironment, calls: CallLog, logsAllCalls: Bool = true, logger: Logger
    ) async throws {
        self.logger = logger
        let plan = try StandalonePlan(bundle.manifest, of: bundle.name, in: environment)
        let project: String
        if let known = environment.project {
            project = known
        } else {
            project = try await MetadataServer(environment.variables, transport: OutboundClient()).project()
        }
        documents = try RemoteFirestore.fromEnvironment(project: project, environment: environment.variables)
        var limits = HostLimits()
        limits.shutdownGrace = Self.shutdownGrace
        let parts = ServingParts(
            InvocationServices(
                FunctionBackends(
                    documents: documents, users: try RemoteUsers(project: project, environment: environment.variables),
                    databases: try RemoteDatabases.fromEnvironment(
                        project: project, environment: environment.variables),
                    transactions: UnavailableTransactions(
                        "a function that is served alone can change documents only in a transaction: Firebase Authentication "
                            + "and the Realtime Database have none with them. Change the rest before or after it, or run "
                            + "the bundle under functions-host")),
                limits: limits,
                recordCalls: calls.recorder, recordsAllCalls: logsAllCalls),
            tokens: environment.tokenSources(of: project, logger: logger), limits: limits,
            connections: ProcessLimits.connections, adoptsOrphans: true, logger: logger)
        self.parts = parts
        let secrets = bundle.manifest.params.filter { $0.type == .secret }.map(\.name)
        // Also those that no function which is served may read: they are in this process's environment.
        if secrets.contains(where: { environment.variables[$0] != nil }) { ProcessLimits.forbidCoreDumps() }
        functions = plan.functions.map { manifest in
            ServedFunction(
                manifest: manifest,
                pool: parts.pool(
                    manifest, executable: bundle.executable,
                    environment: environment.workerEnvironment(
                        of: manifest.name, project: project, release: bundle.name, without: secrets),
                    params: plan.params.values(for: manifest)),
                gate: FunctionGate(now: Timestamp.wallClock), limiter: RateLimiter(manifest.rateLimits))
        }
        do {
            gateway = try await parts.gateway(
                host: environment.host, port: environment.port, proxies: environment.proxies,
                hosts: environment.hosts,
                routes: RouteTable(
                    project: project, functions: functions, target: environment.target == nil ? nil : functions.first),
                logger: logger)
        } catch {
            await parts.close()
            throw HostError.listening(on: environment.port, of: environment.host, error)
        }
        if let reason = plan.unservedReason { logger.notice("some functions aren't served alone", metadata: reason) }
        if let warning = environment.tokenWarning(of: project) { logger.warning("\(warning)") }
        logger.notice(
            "the bundle is served alone",
            metadata: [
                "bundle": "\(bundle.name)", "project": "\(project)", "address": "\(environment.host)",
                "port": "\(gateway.port)",
                "functions": "\(functions.map(\.manifest.name).joined(separator: " "))",
                "tokens": "\(environment.tokenPolicy)",
            ])
    }

    /// Serves until a graceful shutdown is over.
    ///
    /// - Parameter gracefulShutdownSignals: which signals begin the shutdown.
    package func run(gracefulShutdownSignals: [UnixSignal]) async throws {
        parts.logCgroups()
        for function in functions { function.pool.begin() }
        var quiet = logger
        quiet.logLevel = .critical
        let group = ServiceGroup(
            configuration: .init(
                services: (parts.keyCaches + [gateway]).map { .init(service: $0) },
                gracefulShutdownSignals: gracefulShutdownSignals, logger: quiet))
        let result: Result<Void, any Error>
        do {
            try await group.run()
            result = .success(())
        } catch {
            result = .failure(error)
        }
        for function in functions { function.pool.stop() }
        for function in functions { await function.pool.kill() }
        await rollBack(within: .seconds(1))
        await parts.close()
        try result.get()
    }

    /// Waits for transactions that were left open to be rolled back, but not for a service that doesn't answer: the
    /// process must end in time.
    private func rollBack(within limit: Duration) async {
        let (ended, end) = AsyncStream.makeStream(of: Never.self)
        let bound = Task {
            try? await Task.sleep(for: limit)
            end.finish()
        }
        Task {
            await documents.shutdown()
            end.finish()
        }
        for await _ in ended {}
        bound.cancel()
    }
}

extension ServingEnvironment {
    fileprivate func tokenSources(of project: String, logger: Logger) -> TokenSources {
        let isRemote = RemoteKeySource.isUseful(forProject: project)
        var sources = TokenSources(project: project, policy: tokenPolicy)
        sources.servesBlockingEvents = true
        if let authEmulator {
            // Most emulators have no keys, and that is nothing to be warned of.
            var quiet = logger
            quiet.logLevel = .error
            sources.idTokenKeys = KeyCache(source: RemoteKeySource.emulator(at: authEmulator), logger: quiet)
            // A host signs both with the same key.
            sources.sessionCookieKeys = sources.idTokenKeys
        } else if isRemote {
            sources.idTokenKeys = KeyCache(source: RemoteKeySource.googleIDTokens, logger: logger)
            sources.sessionCookieKeys = KeyCache(source: RemoteKeySource.googleSessionCookies, logger: logger)
        }
        if isRemote { sources.appCheckKeys = KeyCache(source: RemoteKeySource.googleAppCheck, logger: logger) }
        return sources
    }
}

extension HostError {
    fileprivate static func listening(on port: Int, of host: String, _ error: any Error) -> HostError {
        switch (error as? IOError)?.errnoCode {
        case EADDRINUSE: HostError("the port \(port) is taken by another program; end it, or set PORT to another")
        case EACCES: HostError("this user may not listen on port \(port); set PORT to one above 1023")
        case EADDRNOTAVAIL:
            HostError("this machine has no address \(host); set HOST to one that it has, or to 0.0.0.0 for all")
        default: HostError("port \(port) can't be listened on: \(error)")
        }
    }
}
