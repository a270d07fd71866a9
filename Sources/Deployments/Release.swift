import EventDelivery
import FunctionManifest
package import HostConfiguration
import Workers

/// One immutable version of a bundle: its executable and its manifest.
package struct Release: Sendable {
    var bundle: String
    var id: String
    var executable: String
    var manifest: Manifest

    /// The id of a local build, which is served without having been deployed.
    static let localID = "local"

    var isLocal: Bool { id.hasPrefix(Self.localID) }

    init(bundle: String, id: String, executable: String, manifest: Manifest) {
        self.bundle = bundle
        self.id = id
        self.executable = executable
        self.manifest = manifest
    }

    /// A local build of a bundle of the configuration.
    ///
    /// - Throws: ``BundleError`` if it has no valid manifest.
    static func local(
        _ bundle: HostConfiguration.Bundle, _ configuration: HostConfiguration, _ executable: String
    ) async throws -> Release {
        let environment = WorkerLaunch.environment(configuration, function: nil, release: bundle.name)
        let manifest = try await BundleInspector().manifest(of: executable, environment: environment)
        return Release(bundle: bundle.name, id: localID, executable: executable, manifest: manifest)
    }

    /// The releases that the host serves at its start: of each bundle the current release, or the local build if none
    /// was deployed.
    ///
    /// - Parameters:
    ///   - isLocal: whether to serve local builds only, and no deployed releases.
    ///   - copies: where local builds are copied to before they are served; nil to serve them from where they were
    ///     built.
    package static func initial(
        _ configuration: HostConfiguration, _ locator: BundleLocator, _ store: ReleaseStore, isLocal: Bool,
        copies: LocalCopies?
    ) async throws -> [Release] {
        let deployed = isLocal ? [] : try deployed(store)
        var releases: [Release] = []
        for bundle in configuration.bundles where !deployed.contains(where: { $0.bundle == bundle.name }) {
            let release = try await local(bundle, configuration, try locator.executable(of: bundle))
            releases.append(try await copies?.copy(release, id: localID + "-0") ?? release)
        }
        return releases + deployed
    }

    /// Checks that the host can serve what was deployed. It is called before the store is opened, which may bring that up
    /// to a version that an older host refuses.
    ///
    /// - Throws: ``ReleaseError`` if it can't.
    package static func checkDeployed(_ store: ReleaseStore) throws(ReleaseError) { _ = try deployed(store) }

    /// The current release of each bundle that was deployed.
    ///
    /// - Throws: ``ReleaseError`` if one can't be served.
    private static func deployed(_ store: ReleaseStore) throws(ReleaseError) -> [Release] {
        var current = try store.index().current
        current[HostConfiguration.rulesName] = nil
        var releases: [Release] = []
        for (bundle, id) in current.sorted(by: { $0.key < $1.key }) {
            do throws(ReleaseError) {
                releases.append(try store.release(of: bundle, id))
            } catch {
                throw ReleaseError(
                    "\(error). Roll back to an earlier one with \"functions-host rollback \(bundle)\", "
                        + "or serve the local builds with \"functions-host serve --local\"")
            }
        }
        return releases
    }
}

/// The functions of all releases, with the operator's overrides applied.
struct FunctionPlan: Sendable {
    struct Entry: Sendable {
        var release: Release
        var manifest: FunctionManifest
        /// The params that the function may read; empty for a kept bundle, whose workers already have them.
        var params: ParamValues
    }

    private(set) var entries: [Entry] = []
    /// Keys of the configuration for functions and params that no bundle has, such as `functions.purchas`.
    private(set) var unknownKeys: [String] = []

    /// - Parameters:
    ///   - kept: the bundles that are served already. Their params aren't resolved again, so that a problem with them
    ///     doesn't block another bundle.
    ///   - sources: loads the sources of a bundle's params.
    /// - Throws: ``ConfigurationError`` if two bundles have a function of the same name, if an override is invalid for
    ///   its function, if a param has no value, or if the configuration names an unknown function or param. If a
    ///   deployed release is served, unknown names are only collected in ``unknownKeys``: the release may have removed
    ///   them.
    init(
        _ releases: [Release], keeping kept: Set<String> = [], configuration: HostConfiguration,
        sources: (Manifest) throws(ConfigurationError) -> ParamSources
    ) throws(ConfigurationError) {
        var owners: [String: String] = [:]
        var problems: [ConfigurationError.Problem] = []
        func report(_ key: String, _ message: String) {
            problems += configuration.problem(at: key, message).problems
        }
        var moments: [TriggerManifest.BlockingTrigger.Moment: String] = [:]
        for release in releases {
            let isKept = kept.contains(release.bundle)
            let params = ParamResolution(
                isKept ? Manifest(functions: []) : release.manifest, of: release.bundle,
                from: try isKept ? ParamSources() : sources(release.manifest))
            for problem in params.problems { report(problem.key, problem.message) }
            for function in release.manifest.functions {
                if let other = owners.updateValue(release.bundle, forKey: function.name) {
                    report(
                        "bundles",
                        "\(other) and \(release.bundle) both have a function \"\(function.name)\"; rename one")
                    continue
                }
                if case .blocking(let trigger) = function.trigger,
                    let other = moments.updateValue(function.name, forKey: trigger.moment)
                {
                    report(
                        "bundles",
                        "\(other) and \(function.name) both run at \(trigger.moment.rawValue); a project has one such function"
                    )
                }
                var manifest = function
                if let overrides = configuration.functions[function.name] {
                    manifest.apply(overrides)
                    for problem in manifest.problems { report("functions.\(function.name)", problem) }
                }
                if let problem = manifest.zoneProblem { report("bundles", "\(function.name): \(problem)") }
                entries.append(Entry(release: release, manifest: manifest, params: params.values(for: manifest)))
            }
        }
        let allowsUnknown = !releases.allSatisfy(\.isLocal)
        for name in configuration.functions.keys.sorted() where owners[name] == nil {
            guard !allowsUnknown else {
                unknownKeys.append("functions.\(name)")
                continue
            }
            let known = owners.keys.sorted().joined(separator: ", ")
            report(
                "functions.\(name)",
                "no bundle has a function \"\(name)\"; "
                    + (known.isEmpty ? "none has any" : "the functions are \(known)"))
        }
        let params = Set(releases.flatMap { $0.manifest.params.map(\.name) })
        for name in configuration.params.keys.sorted() where !params.contains(name) {
            guard !allowsUnknown else {
                unknownKeys.append("params.\(name)")
                continue
            }
            let known = params.sorted().joined(separator: ", ")
            report(
                "params.\(name)",
                "no bundle has a param \"\(name)\"; \(known.isEmpty ? "there are none" : "the params are \(known)")")
        }
        if !problems.isEmpty {
            throw ConfigurationError(file: configuration.places.file, problems: problems)
        }
    }
}

extension FunctionManifest {
    /// Applies the operator's overrides to the author's options.
    mutating func apply(_ overrides: HostConfiguration.FunctionOverrides) {
        if let region = overrides.region { regions = [region] }
        if let memory = overrides.memory { memoryMiB = memory.mebibytes }
        if let timeout = overrides.timeout { timeoutSeconds = timeout }
        if let minInstances = overrides.minInstances { self.minInstances = minInstances }
        if let maxInstances = overrides.maxInstances { self.maxInstances = maxInstances }
        if let callerLimits = overrides.callerLimits { rateLimits = callerLimits }
        if let cpu = overrides.cpu { self.cpu = Double(cpu) }
        if let concurrency = overrides.concurrency { self.concurrency = concurrency }
    }
}
