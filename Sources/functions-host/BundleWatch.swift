import DataDirectory
import Deployments
import Foundation
import FunctionsHost
import HostConfiguration

/// Rebuilds the packages of `functions.json` when their sources change, and makes the host serve the new builds. Reloads
/// params when their files change. Whatever is wrong is printed, and what was served before stays so until an edit corrects
/// it.
struct BundleWatch: Sendable {
    private struct Bundle: Sendable {
        let name: String
        let product: String
        /// The state of the executable that is served.
        var served: String?
    }

    private struct Package: Sendable {
        let build: PackageBuild
        var bundles: [Bundle]
        /// The state of the sources before the last build, by file.
        var sources: [String: String]
        /// The products whose last build failed: an edit elsewhere may correct them.
        var failed: Set<String> = []

        /// The bundles whose executables change with some files: one if all of them are its own, or else all.
        func bundles(affectedBy files: Set<String>) -> [Bundle] {
            let own = bundles.filter { bundle in
                files.allSatisfy { $0.hasPrefix("\(build.package)/Sources/\(bundle.product)/") }
            }
            return own.count == 1 && failed.isSubset(of: own.map(\.product)) ? own : bundles
        }
    }

    /// How often the files are looked at. Looking at a thousand takes a few milliseconds.
    private static let interval: Duration = .milliseconds(200)
    /// How long they must stay the same: an editor may write several.
    private static let rest: Duration = .milliseconds(100)

    private let packages: [Package]
    private let configuration: HostConfiguration
    /// The state of the configuration file and the params files before they were read.
    private let settings: [String]
    /// The state of the other files that a host reads at its start.
    private let startFiles: [String]
    private let load: @Sendable () throws -> HostConfiguration
    private let report: @Sendable (String) -> Void

    /// - Parameters:
    ///   - hostDirectory: The directory of the running program; bundles found there are built in the same
    ///     configuration.
    ///   - load: Reads the current configuration.
    init(
        _ configuration: HostConfiguration, hostDirectory: String,
        load: @escaping @Sendable () throws -> HostConfiguration, report: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.load = load
        self.report = report
        settings = Self.settings(of: configuration)
        startFiles = Self.startFiles(of: configuration)
        var packages: [Package] = []
        for bundle in configuration.bundles {
            guard case .product(let product, let directory) = bundle.source else { continue }
            let isRelease = bundle.executable(in: hostDirectory).map { $0.contains("/release/") } ?? false
            let kind = isRelease ? "release" : "debug"
            let served = Bundle(name: bundle.name, product: product)
            let index = packages.firstIndex {
                $0.build.package == directory && $0.build.configuration == kind
            }
            if let index {
                packages[index].bundles.append(served)
            } else {
                packages.append(
                    Package(
                        build: PackageBuild(package: directory, products: [], configuration: kind),
                        bundles: [served], sources: Self.sources(of: directory)))
            }
        }
        self.packages = packages.map { package in
            Package(
                build: PackageBuild(
                    package: package.build.package, products: package.bundles.map(\.product),
                    configuration: package.build.configuration),
                bundles: package.bundles, sources: package.sources)
        }
    }

    /// Builds the packages at startup. If a build fails, the previous executables may still work.
    func buildAll() async {
        for package in packages { _ = await build(package.build, for: package.bundles) }
    }

    /// The state of a configuration file and of the files that may belong to it, for a start that can't read it.
    static func state(beside file: String) -> [String] {
        let directory = URL(fileURLWithPath: file).deletingLastPathComponent().path
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        let settings = names.filter { name in
            name.hasPrefix(".env") || name.hasPrefix(".secrets") || name.hasSuffix(".json") || name.hasSuffix(".rules")
        }.sorted()
        // One that it names may be missing, wherever it should be.
        let text = (try? String(contentsOfFile: file, encoding: .utf8)) ?? ""
        let named = text.matches(of: /"((?:[^"\\]|\\.)*)"/).filter { !$0.1.isEmpty }.map { match in
            URL(fileURLWithPath: String(match.1), relativeTo: URL(fileURLWithPath: directory + "/"))
                .standardizedFileURL.path
        }
        return ([file] + settings.map { "\(directory)/\($0)" } + named).compactMap { stamp(of: $0) }
    }

    /// Waits until a file has changed that the host's start depends on.
    ///
    /// - Parameters:
    ///   - watch: nil if the configuration file couldn't be read.
    ///   - state: ``state(beside:)`` of that file before it was read.
    static func change(after watch: BundleWatch?, orOf file: String, since state: [String]) async throws {
        let before =
            watch.map { $0.packages.flatMap { $0.sources.values.sorted() } + $0.settings + $0.startFiles } ?? state
        func now() -> [String] {
            guard let watch else { return Self.state(beside: file) }
            return watch.packages.flatMap { sources(of: $0.build.package).values.sorted() }
                + settings(of: watch.configuration) + startFiles(of: watch.configuration)
        }
        while now() == before { try await Task.sleep(for: interval) }
        try await Task.sleep(for: rest)
    }

    /// Watches the files until its task is cancelled.
    func run(_ host: HostServer) async {
        var packages = packages
        for index in packages.indices {
            for bundle in packages[index].bundles.indices {
                packages[index].bundles[bundle].served = await executable(bundle, of: packages[index])?.state
            }
        }
        var configuration = configuration
        var settings = settings
        var count = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            let newSettings = Self.settings(of: configuration)
            let newSources = packages.map { Self.sources(of: $0.build.package) }
            let areSettingsNew = newSettings != settings
            let changed = packages.indices.filter { newSources[$0] != packages[$0].sources }
            guard areSettingsNew || !changed.isEmpty else { continue }
            try? await Task.sleep(for: Self.rest)
            guard Self.settings(of: configuration) == newSettings,
                changed.allSatisfy({ Self.sources(of: packages[$0].build.package) == newSources[$0] })
            else { continue }
            if areSettingsNew {
                count += 1
                settings = await reread(&configuration, newSettings, host, id: "local-\(count)")
            }
            let start = ContinuousClock.now
            for index in changed {
                let package = packages[index]
                let files = Set(newSources[index].keys).union(package.sources.keys).filter {
                    newSources[index][$0] != package.sources[$0]
                }
                packages[index].sources = newSources[index]
                let affected = package.bundles(affectedBy: files)
                let isBuilt = await build(package.build.limited(to: affected.map(\.product)), for: affected)
                packages[index].failed = isBuilt ? [] : Set(affected.map(\.product))
            }
            // A build that couldn't be served may be served with other settings, or once another bundle has changed.
            let places = packages.indices.flatMap { package in
                packages[package].bundles.indices.map { (package: package, bundle: $0) }
            }
            var hasServed = false
            var failures: [String] = []
            repeat {
                hasServed = false
                failures = []
                for place in places {
                    let (package, bundle) = (packages[place.package], packages[place.package].bundles[place.bundle])
                    guard let built = await executable(place.bundle, of: package), built.state != bundle.served
                    else { continue }
                    count += 1
                    do {
                        try await host.reload(bundle.name, executable: built.path, id: "local-\(count)")
                        packages[place.package].bundles[place.bundle].served = built.state
                        hasServed = true
                        report("\(bundle.name): serving the new build, \(Self.seconds(since: start)) after the edit")
                    } catch {
                        failures.append(
                            "\(bundle.name): the new build can't be served: \(error); the previous one keeps serving")
                    }
                }
                // One may have a function that another bundle has only now lost.
            } while hasServed && !failures.isEmpty
            for failure in failures { report(failure) }
        }
    }

    /// Applies the settings that can change while the host serves, and reports the others.
    ///
    /// - Parameter settings: The state of the files before they are read.
    /// - Returns: The state of the files that were read, so that a change in the meantime is detected.
    private func reread(
        _ configuration: inout HostConfiguration, _ settings: [String], _ host: HostServer, id: String
    ) async -> [String] {
        let file = configuration.places.file
        var settings = settings
        do {
            let next = try load()
            // The configuration may name other files now. The first file is the configuration itself.
            let read = Self.settings(of: next)
            settings = read.first == settings.first ? read : []
            let fixed = next.keysNeedingRestart(comparedWith: configuration)
            if !fixed.isEmpty {
                report(
                    "\(file): \(fixed.joined(separator: ", ")) changed; restart the host to apply this")
            }
            configuration = next
            let deployed = try await host.reloadParams(next, id: id)
            report(
                "reloaded params"
                    + (deployed.isEmpty
                        ? ""
                        : ", except those of \(deployed.joined(separator: ", ")): deployed releases keep their params"))
        } catch {
            report("params can't be reloaded: \(error); the previous ones stay in use")
        }
        return settings
    }

    // MARK: Parts

    /// The files that configure the host, each with its state.
    private static func settings(of configuration: HostConfiguration) -> [String] {
        ([configuration.places.file] + configuration.paramFiles).compactMap { stamp(of: $0) }
    }

    private func build(_ build: PackageBuild, for bundles: [Bundle]) async -> Bool {
        let names = bundles.map(\.name).joined(separator: ", ")
        report("\(names): building \(build.products.joined(separator: ", "))")
        let start = ContinuousClock.now
        do {
            let interruption = BuildInterruption()
            try await withTaskCancellationHandler {
                try await Self.onThread { try build.run(until: interruption) }
            } onCancel: {
                // It would go on after the host, and hold up the next one's.
                interruption.interrupt()
            }
            report("\(names): built in \(Self.seconds(since: start))")
            return true
        } catch {
            report("\(names): \(error); the previous build keeps serving")
            return false
        }
    }

    private static func seconds(since start: ContinuousClock.Instant) -> String {
        let time = (ContinuousClock.now - start).components
        return "\(time.seconds).\(time.attoseconds / 100_000_000_000_000_000) s"
    }

    /// The files that a host reads only at its start.
    private static func startFiles(of configuration: HostConfiguration) -> [String] {
        let executables = configuration.bundles.compactMap { bundle -> String? in
            if case .executable(let path) = bundle.source { path } else { nil }
        }
        var files = RulesSource(configuration).paths + executables
        if let tls = configuration.listen.tls { files += [tls.certificate, tls.key] }
        if let templates = configuration.auth.mail?.templates {
            let names = (try? FileManager.default.contentsOfDirectory(atPath: templates)) ?? []
            files += names.sorted().map { "\(templates)/\($0)" }
        }
        return files.compactMap { stamp(of: $0) }
    }

    /// The executable that a bundle's build makes, and its state; nil if there is none.
    private func executable(_ bundle: Int, of package: Package) async -> (path: String, state: String)? {
        let (build, product) = (package.build, package.bundles[bundle].product)
        guard let path = try? await Self.onThread({ try build.path(of: product) }), let state = Self.stamp(of: path)
        else { return nil }
        return (path, state)
    }

    /// Waits for a process on a thread that may block.
    private static func onThread<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Swift.Result { try work() }) }
        }
    }

    /// The sources that a package's build depends on, each with its state: those of its targets, and those of packages that
    /// it names by their paths.
    private static func sources(of package: String) -> [String: String] {
        var stamps: [String: String] = [:]
        var packages = [package]
        var seen: Set<String> = []
        while let next = packages.popLast() {
            guard seen.insert(next).inserted else { continue }
            let manifest = next + "/Package.swift"
            stamps[manifest] = stamp(of: manifest)
            var directories = ["Sources", "Source", "src", "srcs"].map { "\(next)/\($0)" }
            let text = (try? String(contentsOfFile: manifest, encoding: .utf8)) ?? ""
            for match in text.matches(of: /path: *"([^"]+)"/) {
                let path = URL(fileURLWithPath: String(match.1), relativeTo: URL(fileURLWithPath: next + "/"))
                    .standardizedFileURL.path
                if path != next, FileManager.default.fileExists(atPath: path + "/Package.swift") {
                    packages.append(path)
                } else if !path.hasPrefix(next + "/Sources/") {
                    directories.append(path)
                }
            }
            for directory in directories { add(filesIn: directory, to: &stamps) }
        }
        return stamps
    }

    /// Adds the files in a directory and those below it, links included and hidden ones left out.
    ///
    /// - Parameter parents: the directories that this one is in; a link to one of them is not followed.
    private static func add(
        filesIn directory: String, below parents: Set<FileStamp.Identity> = [], to stamps: inout [String: String]
    ) {
        guard let identity = FileStamp(directory)?.identity, !parents.contains(identity) else { return }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where !name.hasPrefix(".") {
            let path = "\(directory)/\(name)"
            if FileStamp(path)?.isDirectory == true {
                add(filesIn: path, below: parents.union([identity]), to: &stamps)
            } else {
                stamps[path] = stamp(of: path)
            }
        }
    }

    private static func stamp(of path: String?) -> String? {
        path.flatMap { path in FileStamp(path).map { "\(path) \($0)" } }
    }
}
