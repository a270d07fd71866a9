import Deployments
import FunctionsHost
import HostConfiguration
import Foundation

/// Rebuilds the bundles of `functions.json` when their packages' sources change, and has the host serve what was built, or
/// the same with other params where the files of these change. A build that fails shows its errors, and what was served
/// goes on.
struct BundleWatch: Sendable {
    private struct Bundle: Sendable {
        let name: String
        let build: PackageBuild
        /// What was served last, by its file's time and size.
        var built: String?
    }

    /// How often sources are looked at. One look at a thousand files takes some milliseconds.
    private static let interval: Duration = .milliseconds(500)

    private let bundles: [Bundle]
    /// The sources before they were built first.
    private let first: [[String]]
    private let configuration: HostConfiguration
    /// Its file, and those of params, before they were used.
    private let firstSettings: [String]
    private let load: @Sendable () throws -> HostConfiguration
    private let tell: @Sendable (String) -> Void

    /// - Parameters:
    ///   - hostDirectory: where the running program stands; bundles are built as those that are found there.
    ///   - load: reads the configuration as it is by then.
    init(
        _ configuration: HostConfiguration, hostDirectory: String,
        load: @escaping @Sendable () throws -> HostConfiguration, tell: @escaping @Sendable (String) -> Void
    ) {
        self.configuration = configuration
        self.load = load
        self.tell = tell
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

    /// Builds what is to be served at the start. Where that fails an older build may do.
    func buildAll() async {
        for bundle in bundles { _ = await Self.build(bundle, tell) }
    }

    /// Watches until its task is cancelled.
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
                // An editor may write several files: it is built once nothing changes any more.
                seen[index] = now
                try? await Task.sleep(for: Self.interval)
                guard Self.sources(of: bundles[index].build.package) == now else {
                    seen[index] = []
                    continue
                }
                guard let path = await Self.build(bundles[index], tell) else { continue }
                let stamp = Self.stamp(of: path)
                guard stamp != bundles[index].built else { continue }
                count += 1
                do {
                    try await host.reload(bundles[index].name, id: "local-\(count)")
                    bundles[index].built = stamp
                    tell("\(bundles[index].name): what was built is served")
                } catch {
                    tell("\(bundles[index].name): what was built isn't served: \(error)")
                }
            }
        }
    }

    /// Has the host take over what can be changed while it serves, and tells what can't.
    ///
    /// - Parameter settings: as they were before they are read.
    /// - Returns: the settings that were read: what changes while the host takes them over is seen afterwards.
    private func reread(
        _ configuration: inout HostConfiguration, _ settings: [String], _ host: HostServer, id: String
    ) async -> [String] {
        let file = configuration.places.file
        var settings = settings
        do {
            let next = try load()
            // Other files may count by now. The first is the configuration's own.
            let read = Self.settings(of: next)
            settings = read.first == settings.first ? read : []
            let fixed = next.fixedKeys(unlike: configuration)
            if !fixed.isEmpty {
                tell(
                    "\(file): \(fixed.joined(separator: ", ")) changed, which holds from the next start of the host on")
            }
            configuration = next
            let deployed = try await host.reread(next, id: id)
            tell(
                "params are read anew"
                    + (deployed.isEmpty
                        ? ""
                        : ", but those of \(deployed.joined(separator: ", ")), which was deployed, are the release's"))
        } catch {
            tell("params aren't read anew: \(error); what was served goes on")
        }
        return settings
    }

    // MARK: Parts

    /// What the host is set up by, each file with its time and size.
    private static func settings(of configuration: HostConfiguration) -> [String] {
        ([configuration.places.file] + configuration.paramFiles).compactMap { stamp(of: $0) }
    }

    private static func build(_ bundle: Bundle, _ tell: @Sendable (String) -> Void) async -> String? {
        tell("\(bundle.name): building \(bundle.build.product)")
        do {
            return try await onThread { try bundle.build.run() }
        } catch {
            tell("\(bundle.name): \(error); what was served goes on")
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

    /// What of a package a build depends on, each file with its time and size.
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
