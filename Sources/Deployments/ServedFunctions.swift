package import DocumentStore
import DocumentModel
import EventDelivery
package import EventDispatch
package import FunctionManifest
package import Gateway
package import HostConfiguration
import HostProcess
package import Workers
package import Logging
import NIOCore

/// What is served at one time: the releases, one of each bundle, and their functions with workers and routes.
package struct ServedFunctions: Sendable {
    let releases: [Release]
    let functions: [ServedFunction]
    package let routes: RouteTable

    package var manifests: [FunctionManifest] { functions.map(\.manifest) }

    func release(of bundle: String) -> Release? { releases.first { $0.bundle == bundle } }

    /// As the dispatcher takes them.
    package func eventFunctions(on loops: [InvocationLoop]) -> [EventService.Function] {
        functions.map { function in
            EventService.Function(
                manifest: function.manifest, gate: function.gate,
                launcher: function.manifest.trigger.isForEvents
                    ? InvocationLauncher(function.manifest, pool: function.pool, gate: function.gate, loops: loops)
                    : nil)
        }
    }
}

/// Makes what is served of releases.
package actor ServedFunctionsMaker {
    private var configuration: HostConfiguration
    private let store: DocumentStore
    private let serving: ServingParts
    private let logger: Logger
    /// They outlive releases: a pause and what is used of a budget are the function's.
    private var gates: [String: FunctionGate] = [:]

    package init(_ configuration: HostConfiguration, store: DocumentStore, serving: ServingParts, logger: Logger) {
        self.configuration = configuration
        self.store = store
        self.serving = serving
        self.logger = logger
    }

    /// From now on params have the values that this configuration gives them.
    func take(paramsOf other: HostConfiguration) {
        configuration.params = other.params
        configuration.secrets = other.secrets
    }

    /// - Parameter before: what is served already; of releases that stay the workers do too.
    /// - Throws: ``ConfigurationError`` where the releases don't go together or don't fit the configuration;
    ///   `DocumentError` where the store can't be read.
    package func make(_ releases: [Release], after before: ServedFunctions? = nil) async throws -> ServedFunctions {
        let kept = Set(releases.filter { before?.release(of: $0.bundle)?.id == $0.id }.map(\.bundle))
        let configuration = configuration
        let plan = try FunctionPlan(releases, keeping: kept, configuration: configuration) {
            manifest throws(ConfigurationError) in try ParamSources.load(configuration, for: manifest)
        }
        for key in plan.unknown {
            logger.warning(
                "the configuration sets what no bundle has",
                metadata: ["key": "\(key)", "file": "\(configuration.places.file)"])
        }
        if plan.entries.contains(where: { !$0.params.secrets.isEmpty }) { ProcessLimits.forbidCoreDumps() }
        var existing: [String: ServedFunction] = [:]
        for function in before?.functions ?? [] { existing[function.manifest.name] = function }
        let records = try await EventRecords.load(store)
        var functions: [ServedFunction] = []
        for entry in plan.entries {
            if kept.contains(entry.release.bundle), let function = existing[entry.manifest.name] {
                functions.append(function)
            } else {
                functions.append(
                    ServedFunction(
                        manifest: entry.manifest, pool: pool(entry), gate: gate(entry.manifest, records),
                        limiter: .going(
                            on: existing[entry.manifest.name]?.limiter, with: entry.manifest.rateLimits)))
            }
        }
        return ServedFunctions(
            releases: releases, functions: functions,
            routes: RouteTable(project: configuration.project, functions: functions))
    }

    private func gate(_ manifest: FunctionManifest, _ records: EventRecords) -> FunctionGate {
        if let gate = gates[manifest.name] { return gate }
        let gate = FunctionGate(
            manifest.name, budget: configuration.functions[manifest.name]?.budget,
            record: records.budgets[manifest.name], now: Timestamp.now,
            logger: logger)
        gates[manifest.name] = gate
        return gate
    }

    private func pool(_ entry: FunctionPlan.Entry) -> WorkerPool {
        serving.pool(
            entry.manifest, executable: entry.release.executable,
            environment: WorkerLaunch.environment(
                configuration, function: entry.manifest.name, release: entry.release.bundle + "-" + entry.release.id),
            params: entry.params)
    }
}
