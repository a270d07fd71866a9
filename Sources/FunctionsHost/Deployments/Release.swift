import Foundation
import WorkerProtocol

/// One immutable version of a bundle: its executable and what it told of its functions.
struct Release: Sendable {
    var bundle: String
    var id: String
    var executable: String
    var manifest: Manifest

    init(bundle: String, id: String, executable: String, manifest: Manifest) {
        self.bundle = bundle
        self.id = id
        self.executable = executable
        self.manifest = manifest
    }
}

/// The functions of all releases with what the operator sets for them.
struct FunctionPlan: Sendable {
    struct Entry: Sendable {
        var release: Release
        var manifest: FunctionManifest
        /// What it may read.
        var params: ParamValues
    }

    private(set) var entries: [Entry] = []

    /// - Throws: ``ConfigurationError`` where two bundles have a function of one name, where the configuration names a
    ///   function or a param that none has, where what it sets is impossible for the function, or where a param has no
    ///   value.
    init(
        _ releases: [Release], configuration: HostConfiguration, sources: ParamSources
    ) throws(ConfigurationError) {
        var owners: [String: String] = [:]
        var problems: [ConfigurationError.Problem] = []
        func report(_ key: String, _ message: String) {
            problems += configuration.problem(at: key, message).problems
        }
        for release in releases {
            let params = ParamResolution(release.manifest, of: release.bundle, from: sources)
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
                if let problem = manifest.scheduleProblem { report("bundles", "\(function.name): \(problem)") }
                entries.append(Entry(release: release, manifest: manifest, params: params.values(for: manifest)))
            }
        }
        for name in configuration.functions.keys.sorted() where owners[name] == nil {
            let known = owners.keys.sorted().joined(separator: ", ")
            report("functions.\(name)", "no bundle has a function \"\(name)\"; there are \(known)")
        }
        let params = Set(releases.flatMap { $0.manifest.params.map(\.name) })
        for name in sources.configured.keys.sorted() where !params.contains(name) {
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
    /// Why the job's schedule can't be kept; nil where it can, or where this is no job.
    fileprivate var scheduleProblem: String? {
        guard case .schedule(let trigger) = trigger else { return nil }
        guard TimeZone(identifier: trigger.timeZone) != nil else {
            return "there is no time zone \"\(trigger.timeZone)\"; write one such as Asia/Tokyo"
        }
        do {
            _ = try Schedule(trigger.schedule)
            return nil
        } catch {
            return "the schedule \"\(trigger.schedule)\" can't be read: \(error)"
        }
    }

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
