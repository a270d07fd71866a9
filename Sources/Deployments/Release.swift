import EventDelivery
import FunctionManifest
package import HostConfiguration
import Workers

/// One immutable version of a bundle: its executable and what it told of its functions.
package struct Release: Sendable {
    var bundle: String
    var id: String
    var executable: String
    var manifest: Manifest

    /// The id of what is served as it was built, without having been deployed.
    static let localID = "local"

    var isLocal: Bool { id.hasPrefix(Self.localID) }

    init(bundle: String, id: String, executable: String, manifest: Manifest) {
        self.bundle = bundle
        self.id = id
        self.executable = executable
        self.manifest = manifest
    }

    /// What a bundle of the configuration is as it is built by now.
    ///
    /// - Throws: ``BundleError`` where it can't be had.
    static func local(
        _ bundle: HostConfiguration.Bundle, _ configuration: HostConfiguration, _ locator: BundleLocator
    ) async throws -> Release {
        let executable = try locator.executable(of: bundle)
        let environment = WorkerLaunch.environment(configuration, function: nil, release: bundle.name)
        let manifest = try await BundleInspector().manifest(of: executable, environment: environment)
        return Release(bundle: bundle.name, id: localID, executable: executable, manifest: manifest)
    }

    /// What the host begins with: of each bundle the release that was deployed last, else what the configuration names
    /// as it is built.
    ///
    /// - Parameters:
    ///   - isLocal: whether releases are left aside.
    ///   - copies: where what is built is copied to before it is served; nil where it is served from its place.
    package static func first(
        _ configuration: HostConfiguration, _ locator: BundleLocator, _ store: ReleaseStore, isLocal: Bool,
        copies: LocalCopies?
    ) async throws -> [Release] {
        let current = isLocal ? [:] : try store.index().current
        var releases: [Release] = []
        for bundle in configuration.bundles where current[bundle.name] == nil {
            let release = try await local(bundle, configuration, locator)
            releases.append(try await copies?.copy(release, id: localID + "-0") ?? release)
        }
        for (bundle, id) in current.sorted(by: { $0.key < $1.key }) {
            do throws(ReleaseError) {
                releases.append(try store.release(of: bundle, id))
            } catch {
                throw ReleaseError(
                    "\(error). Go back to an earlier one with \"functions-host rollback \(bundle)\", or begin with what "
                        + "is built with \"functions-host serve --local\"")
            }
        }
        return releases
    }
}

/// The functions of all releases with what the operator sets for them.
struct FunctionPlan: Sendable {
    struct Entry: Sendable {
        var release: Release
        var manifest: FunctionManifest
        /// What it may read; of a bundle that is kept nothing, as its workers have it.
        var params: ParamValues
    }

    private(set) var entries: [Entry] = []
    /// Keys of the configuration for functions and params that no bundle has: `functions.purchas`.
    private(set) var unknown: [String] = []

    /// - Parameters:
    ///   - kept: the bundles that are served already. They have their params: what is wrong with these by now is no reason
    ///     not to serve another bundle.
    ///   - sources: where the values of a bundle's params come from.
    /// - Throws: ``ConfigurationError`` where two bundles have a function of one name, where what the configuration sets
    ///   is impossible for a function, where a param has no value, or where the configuration names a function or a param
    ///   that none has. That is no reason not to serve a release that was deployed: it may have left it out since.
    init(
        _ releases: [Release], keeping kept: Set<String> = [], configuration: HostConfiguration,
        sources: (Manifest) throws(ConfigurationError) -> ParamSources
    ) throws(ConfigurationError) {
        var owners: [String: String] = [:]
        var problems: [ConfigurationError.Problem] = []
        func report(_ key: String, _ message: String) {
            problems += configuration.problem(at: key, message).problems
        }
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
                var manifest = function
                if let overrides = configuration.functions[function.name] {
                    manifest.apply(overrides)
                    for problem in manifest.problems { report("functions.\(function.name)", problem) }
                }
                if let problem = manifest.zoneProblem { report("bundles", "\(function.name): \(problem)") }
                entries.append(Entry(release: release, manifest: manifest, params: params.values(for: manifest)))
            }
        }
        let mayBeGone = !releases.allSatisfy(\.isLocal)
        for name in configuration.functions.keys.sorted() where owners[name] == nil {
            guard !mayBeGone else {
                unknown.append("functions.\(name)")
                continue
            }
            let known = owners.keys.sorted().joined(separator: ", ")
            report("functions.\(name)", "no bundle has a function \"\(name)\"; there are \(known)")
        }
        let params = Set(releases.flatMap { $0.manifest.params.map(\.name) })
        for name in configuration.params.keys.sorted() where !params.contains(name) {
            guard !mayBeGone else {
                unknown.append("params.\(name)")
                continue
            }
            let known = params.sorted().joined(separator: ", ")
            report(
                "params.\(name)",
                "no bundle has a param \"\(name)\"; there \(known.isEmpty ? "is none" : "are \(known)")")
        }
        if !problems.isEmpty {
            throw ConfigurationError(file: configuration.places.file, problems: problems)
        }
    }
}

extension FunctionManifest {
    /// What the operator sets wins over what the author chose.
    mutating func apply(_ overrides: HostConfiguration.FunctionOverrides) {
        if let region = overrides.region { regions = [region] }
        if let memory = overrides.memory { memoryMiB = memory.mebibytes }
        if let timeout = overrides.timeout { timeoutSeconds = timeout }
        if let minInstances = overrides.minInstances { self.minInstances = minInstances }
        if let maxInstances = overrides.maxInstances { self.maxInstances = maxInstances }
        if let rateLimits = overrides.rateLimits { self.rateLimits = rateLimits }
        if let cpu = overrides.cpu { self.cpu = Double(cpu) }
        if let concurrency = overrides.concurrency { self.concurrency = concurrency }
    }
}
