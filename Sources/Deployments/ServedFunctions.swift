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

/// The functions that are served at the same time: one release of each bundle, with its functions' workers and routes.
package struct ServedFunctions: Sendable {
    let releases: [Release]
    let functions: [ServedFunction]
    package let routes: RouteTable

    /// The function that runs at a moment of sign-in; a project has one.
    package func blocking(_ moment: TriggerManifest.BlockingTrigger.Moment) -> ServedFunction? {
        functions.first { $0.manifest.trigger == .blocking(.init(moment: moment)) }
    }

    package var manifests: [FunctionManifest] { functions.map(\.manifest) }

    /// Each function with its bundle and release.
    package var overview: [(function: ServedFunction, bundle: String, release: String)] {
        releases.flatMap { release in
            release.manifest.functions.compactMap { manifest in
                functions.first { $0.manifest.name == manifest.name }.map { ($0, release.bundle, release.id) }
            }
        }
    }

    /// The bundles that serve a deployed release.
    package var deployed: [(bundle: String, release: String)] {
        releases.filter { !$0.isLocal }.map { ($0.bundle, $0.id) }
    }

    func release(of bundle: String) -> Release? { releases.first { $0.bundle == bundle } }

    /// The functions in the form that the dispatcher needs.
    package func eventFunctions(on loops: [InvocationLoop]) -> [EventService.Function] {
        functions.map { function in
            EventService.Function(
                manifest: function.manifest, gate: function.gate,
                launcher: function.manifest.trigger.isForEvents
                    ? InvocationLauncher(function, loops: loops)
                    : nil)
        }
    }
}

/// Builds the served functions of a set of releases.
package actor ServedFunctionsMaker {
    private var configuration: HostConfiguration
    private let store: DocumentStore
    private let serving: ServingParts
    private let logger: Logger
    /// Gates outlive releases: a pause and the used budget belong to the function.
    private var gates: [String: FunctionGate] = [:]

    package init(_ configuration: HostConfiguration, store: DocumentStore, serving: ServingParts, logger: Logger) {
        self.configuration = configuration
        self.store = store
        self.serving = serving
        self.logger = logger
    }

    /// Takes over the params and secrets of another configuration.
    func replaceParams(with other: HostConfiguration) {
        configuration.params = other.params
        configuration.secrets = other.secrets
    }

    /// - Parameter before: the functions served so far. Releases that stay keep their workers.
    /// - Throws: ``ConfigurationError`` if the releases conflict with each other or with the configuration;
    ///   `DocumentError` if the store can't be read.
    package func make(_ releases: [Release], after before: ServedFunctions? = nil) async throws -> ServedFunctions {
        let kept = Set(releases.filter { before?.release(of: $0.bundle)?.id == $0.id }.map(\.bundle))
        let configuration = configuration
        let plan = try FunctionPlan(releases, keeping: kept, configuration: configuration) {
            manifest throws(ConfigurationError) in try ParamSources.load(configuration, for: manifest)
        }
        for key in plan.unknownKeys {
            logger.warning(
                "the configuration has a key that no bundle uses",
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
            record: records.budgets[manifest.name], now: Timestamp.wallClock,
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
