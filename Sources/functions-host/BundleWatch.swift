import Deployments
import FunctionsHost
import HostConfiguration
import Foundation

/// Rebuilds the bundles of `functions.json` when their packages' sources change, and makes the host serve the new
/// build. Reloads params when their files change. If a build fails, it prints the errors and the previous build keeps
/// serving.
struct BundleWatch: Sendable {
    private struct Bundle: Sendable {
        let name: String
        let build: PackageBuild
        /// The modification time and size of the executable served last.
        var built: String?
    }

    /// How often the sources are checked. Checking a thousand files takes a few milliseconds.
    private static let interval: Duration = .milliseconds(500)

    private let bundles: [Bundle]
    /// The state of the sources before the first build.
    private let first: [[String]]
    private let configuration: HostConfiguration
    /// The state of the configuration file and the params files before they were read.
    private let firstSettings: [String]
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
        firstSettings = Self.settings(of: configuration)
        bundles = configuration.bundles.compactMap { bundle in
            guard case .product(let product, let package) = bundle.source else { return nil }
            let isRelease = bundle.executable(in: hostDirectory).map { $0.contains("/release/") } ?? false
            return Bundle(
                name: bundle.name,
                build: PackageBuild(
                    package: package, product: product, configuration: isRelease ? "release" : "debug"))
        }
        first = bundles.map { Self.sources(of: $0.build.package) }
    }

    /// Builds the bundles at startup. If a build fails, the previous executable may still work.
    func buildAll() async {
        for bundle in bundles { _ = await Self.build(bundle, report) }
    }

    /// Watches the sources until its task is cancelled.
    func run(_ host: HostServer) async {
        var bundles = bundles
        for index in bundles.indices { bundles[index].built = Self.stamp(of: await Self.path(bundles[index])) }
        var seen = first
        var configuration = configuration
        var settings = firstSettings
        var count = 0
        while !Task.isCancelled {
            try? await Task.sleep(for: Self.interval)
            let now = Self.settings(of: configuration)
            if now != settings {
                settings = now
                try? await Task.sleep(for: Self.interval)
                guard Self.settings(of: configuration) == now else {
                    settings = []
                    continue
                }
                count += 1
                settings = await reread(&configuration, now, host, id: "local-\(count)")
            }
            for index in bundles.indices {
                let now = Self.sources(of: bundles[index].build.package)
                guard now != seen[index] else { continue }
                // An editor may write several files: the build starts once nothing changes any more.
                seen[index] = now
                try? await Task.sleep(for: Self.interval)
                guard Self.sources(of: bundles[index].build.package) == now else {
                    seen[index] = []
                    continue
                }
                guard let path = await Self.build(bundles[index], report) else { continue }
                let stamp = Self.stamp(of: path)
                guard stamp != bundles[index].built else { continue }
                count += 1
                do {
                    try await host.reload(bundles[index].name, id: "local-\(count)")
                    bundles[index].built = stamp
                    report("\(bundles[index].name): serving the new build")
                } catch {
                    report("\(bundles[index].name): the new build can't be served: \(error)")
                }
            }
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

    /// The files that configure the host, each with its modification time and size.
    private static func settings(of configuration: HostConfiguration) -> [String] {
        ([configuration.places.file] + configuration.paramFiles).compactMap { stamp(of: $0) }
    }

    private static func build(_ bundle: Bundle, _ report: @Sendable (String) -> Void) async -> String? {
        report("\(bundle.name): building \(bundle.build.product)")
        do {
            return try await onThread { try bundle.build.run() }
        } catch {
            report("\(bundle.name): \(error); the previous build keeps serving")
            return nil
        }
    }

    private static func path(_ bundle: Bundle) async -> String? {
        try? await onThread { try bundle.build.path() }
    }

    /// Waits for a process on a thread that may block.
    private static func onThread<Result: Sendable>(
        _ work: @escaping @Sendable () throws -> Result
    ) async throws -> Result {
        try await withCheckedThrowingContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(with: Swift.Result { try work() }) }
        }
    }

    /// The sources that a package's build depends on, each with its modification time and size.
    private static func sources(of package: String) -> [String] {
        var files = ["\(package)/Package.swift"]
        let root = URL(fileURLWithPath: package + "/Sources")
        let keys: [URLResourceKey] = [.isRegularFileKey]
        for case let url as URL in FileManager.default.enumerator(at: root, includingPropertiesForKeys: keys) ?? .init()
        {
            files.append(url.path)
        }
        return files.sorted().compactMap { stamp(of: $0) }
    }

    private static func stamp(of path: String?) -> String? {
        guard let path, let attributes = try? FileManager.default.attributesOfItem(atPath: path) else { return nil }
        let time = (attributes[.modificationDate] as? Date)?.timeIntervalSince1970 ?? 0
        return "\(path) \(time) \(attributes[.size] as? Int ?? 0)"
    }
}
