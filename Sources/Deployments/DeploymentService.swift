package import ControlProtocol
package import DocumentModel
package import DocumentStore
import FunctionManifest
package import HostConfiguration
import Workers
package import Logging
import Semaphore
import ServiceLifecycle

/// Deploys releases and takes them back on the running host, one at a time.
package actor DeploymentService: Service {
    /// What it needs of the host.
    package struct Parts: Sendable {
        package var configuration: HostConfiguration
        package var locator: BundleLocator
        package var releases: ReleaseStore
        package var copies: LocalCopies
        package var served: ReleaseSwitch
        package var store: DocumentStore
        package var now: @Sendable () -> Timestamp
        package var logger: Logger

        package init(
            configuration: HostConfiguration, locator: BundleLocator, releases: ReleaseStore, copies: LocalCopies,
            served: ReleaseSwitch, store: DocumentStore, now: @escaping @Sendable () -> Timestamp, logger: Logger
        ) {
            self.configuration = configuration
            self.locator = locator
            self.releases = releases
            self.copies = copies
            self.served = served
            self.store = store
            self.now = now
            self.logger = logger
        }
    }

    private let parts: Parts
    private let maker: ServedFunctionsMaker
    /// Held by the deployment under way.
    private let turn = AsyncSemaphore(1)
    private var isStopping = false

    package init(_ parts: Parts, maker: ServedFunctionsMaker) {
        self.parts = parts
        self.maker = maker
    }

    /// Waits for the host's end. Then a deployment under way ends before what it works with does.
    package func run() async {
        try? await gracefulShutdown()
        isStopping = true
        await parts.served.close()
        await turn.acquireIgnoringCancellation()
        turn.release()
    }

    // MARK: Deploying

    /// Copies an executable into the data directory as a release, and checks that it could be served. Nothing else
    /// changes.
    ///
    /// - Parameters:
    ///   - executable: a bundle's program.
    ///   - release: its id and checksum, where it is a release of another data directory; nil for a new one.
    /// - Returns: what would change.
    package func prepare(
        bundle: String, executable: String, source: String, user: String, as release: (id: String, checksum: String)?
    ) async throws -> DeploymentPlan {
        try await alone {
            guard ConfigurationReader.isName(bundle) else {
                throw ReleaseError(
                    "\"\(bundle)\" is no bundle's name; it begins with a letter and goes on with letters, digits, _ and -"
                )
            }
            let environment = WorkerLaunch.environment(parts.configuration, function: nil, release: bundle)
            let time = parts.now().rfc3339
            let record = try await parts.releases.add(
                ReleaseRecord(
                    bundle: bundle, id: release?.id ?? "", checksum: "", size: 0, created: time, creator: user,
                    source: source, manifest: Manifest(functions: [])),
                from: executable, at: time
            ) { copy in try await BundleInspector().manifest(of: copy, environment: environment) }
            if let release, release.checksum != record.checksum {
                throw ReleaseError("the executable isn't the release \(release.id): the checksums differ")
            }
            return try await plan(for: record)
        }
    }

    /// Serves a release from now on, that was prepared or was served before.
    ///
    /// - Parameter before: the release that was served when this was decided; nil for none that is kept.
    package func activate(
        bundle: String, _ id: String, replacing before: String?, as action: ReleaseEvent.Action, user: String
    ) async throws -> ReleaseEvent {
        try await alone {
            let index = try parts.releases.index()
            guard index.current[bundle] == before else {
                throw ReleaseError(
                    "the bundle \(bundle) serves \(index.current[bundle] ?? "no release") by now; look at what would change "
                        + "once more")
            }
            return try await replace(bundle, with: try await parts.releases.verified(bundle, id), index, action, user)
        }
    }

    /// Goes back to a release that was served before.
    ///
    /// - Parameter id: nil for the one before that which is served.
    package func rollback(bundle: String?, to id: String?, user: String) async throws -> ReleaseEvent {
        try await alone {
            let index = try parts.releases.index()
            let (bundle, target) = try index.rollback(of: bundle, to: id)
            return try await replace(
                bundle, with: try await parts.releases.verified(bundle, target), index, .rollback, user)
        }
    }

    /// Removes what was prepared and is not to be served.
    package func discard(bundle: String, _ id: String) throws {
        guard turn.available > 0, try !parts.releases.index().served(of: bundle).contains(id) else { return }
        parts.releases.remove(bundle, id)
    }

    /// Serves no release of a bundle any more: what `functions.json` names is served as it is built, else nothing of it.
    package func remove(bundle: String, user: String) async throws -> ReleaseEvent {
        try await alone {
            let index = try parts.releases.index()
            guard index.current[bundle] != nil else {
                throw ReleaseError("no release of a bundle \(bundle) is served; \(index.words)")
            }
            var local: Release?
            if let configured = parts.configuration.bundles.first(where: { $0.name == bundle }) {
                local = try await localRelease(configured)
            }
            return try await replace(bundle, with: local, index, .remove, user)
        }
    }

    /// Serves a bundle of the configuration as it is built by now.
    ///
    /// - Parameter id: unlike that of any release before.
    package func reload(bundle name: String, id: String) async throws {
        try await alone {
            guard let configured = parts.configuration.bundles.first(where: { $0.name == name }) else {
                throw ReleaseError("functions.json has no bundle \(name)")
            }
            let release = try await parts.copies.copy(try await localRelease(configured), id: id)
            try await serveCopies(try await next(replacing: name, with: release))
        }
    }

    /// Serves what is served as it was built anew, with the params that it is given by now.
    ///
    /// - Parameters:
    ///   - configuration: `functions.json` as it is by now. Only what it says of params is taken from it.
    ///   - id: unlike that of any release before.
    /// - Returns: the bundles that were deployed, whose params are their releases'.
    package func reread(_ configuration: HostConfiguration, id: String) async throws -> [String] {
        try await alone {
            await maker.take(paramsOf: configuration)
            let current = parts.served.current
            var releases: [Release] = []
            for release in current.releases {
                releases.append(release.isLocal ? try await parts.copies.copy(release, id: id) : release)
            }
            try await serveCopies(try await maker.make(releases, after: current))
            return releases.filter { !$0.isLocal }.map(\.bundle)
        }
    }

    private func serveCopies(_ next: ServedFunctions) async throws {
        let before = parts.served.current.releases
        try await parts.served.probe(next)
        try await parts.served.serve(next)
        // Those before may have calls left to do, and workers to start for them.
        parts.copies.remove(allBut: before + next.releases)
    }

    private func localRelease(_ bundle: HostConfiguration.Bundle) async throws -> Release {
        try await Release.local(bundle, parts.configuration, parts.locator)
    }

    private func replace(
        _ bundle: String, with release: Release?, _ index: ReleaseIndex, _ action: ReleaseEvent.Action, _ user: String
    ) async throws -> ReleaseEvent {
        let next = try await next(replacing: bundle, with: release)
        try await parts.served.probe(next)
        var changed = index
        let event = ReleaseEvent(
            action: action, bundle: bundle, release: release.flatMap { $0.isLocal ? nil : $0.id },
            before: index.current[bundle], time: parts.now().rfc3339, user: user)
        changed.note(event)
        do {
            // First what a restart goes by: whoever is answered can rely on it.
            try parts.releases.write(changed)
            try await parts.served.serve(next)
        } catch {
            parts.served.discard(next)
            try? parts.releases.write(index)
            throw error
        }
        parts.logger.notice(
            "another release is served",
            metadata: [
                "bundle": "\(bundle)", "release": "\(release?.id ?? "none")", "action": "\(action.rawValue)",
                "user": "\(user)",
            ])
        try? parts.releases.clean(keeping: parts.configuration.releases.keep, drafts: false)
        return event
    }

    private func next(replacing bundle: String, with release: Release?) async throws -> ServedFunctions {
        let current = parts.served.current
        var releases = current.releases
        if let position = releases.firstIndex(where: { $0.bundle == bundle }) {
            if let release { releases[position] = release } else { releases.remove(at: position) }
        } else if let release {
            releases.append(release)
        }
        return try await maker.make(releases, after: current)
    }

    // MARK: Looking

    func plan(for record: ReleaseRecord) async throws -> DeploymentPlan {
        let release = try parts.releases.release(of: record.bundle, record.id)
        let next = try await next(replacing: record.bundle, with: release)
        let before = parts.served.current.release(of: record.bundle)
        let counts = try await parts.store.deliveryCounts()
        return DeploymentPlan(
            bundle: record.bundle, release: record.id, checksum: record.checksum, size: record.size,
            current: try parts.releases.index().current[record.bundle], served: before?.id,
            functions: next.manifests.count,
            difference: ReleaseDifference(
                from: before?.manifest, to: record.manifest,
                pending: { name in counts.first { $0.function == name }?.pending ?? 0 }))
    }

    package func listing() throws -> ReleaseListing {
        let index = try parts.releases.index()
        let names = Set(parts.configuration.bundles.map(\.name)).union(index.current.keys)
            .union(index.history.map(\.bundle))
        let bundles = names.sorted().map { name in
            let current = index.current[name]
            let served = Set(index.served(of: name))
            return ReleaseListing.Bundle(
                name: name, current: current, served: parts.served.current.release(of: name)?.id,
                releases: parts.releases.releases(of: name).filter { served.contains($0.id) }.map {
                    ReleaseListing.Release(
                        id: $0.id, created: $0.created, creator: $0.creator, source: $0.source, size: $0.size,
                        checksum: $0.checksum, functions: $0.manifest.functions.map(\.name).sorted(),
                        isCurrent: $0.id == current)
                })
        }
        return ReleaseListing(bundles: bundles, history: index.history)
    }

    // MARK: Parts

    /// One at a time; a second one is told so and doesn't wait, since what it was decided on changes under it.
    private func alone<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard !isStopping else { throw ReleaseError.stopping }
        guard turn.tryAcquire() else {
            throw ReleaseError("another deployment is under way; try again when it is done")
        }
        defer { turn.release() }
        return try await body()
    }
}

extension ReleaseIndex {
    /// What a rollback leads to.
    ///
    /// - Throws: ``ReleaseError`` that says what there is.
    func rollback(of bundle: String?, to id: String?) throws(ReleaseError) -> (bundle: String, release: String) {
        guard let name = bundle ?? (current.count == 1 ? current.keys.first : nil) else {
            throw ReleaseError("name the bundle to roll back; \(words)")
        }
        let served = served(of: name)
        guard !served.isEmpty else { throw ReleaseError("no release of a bundle \(name) was ever served; \(words)") }
        if let id {
            guard served.contains(id) else {
                throw ReleaseError(
                    "no release \(id) of \(name) was ever served; there are \(served.joined(separator: ", "))")
            }
            guard current[name] != id else {
                throw ReleaseError("the release \(id) of \(name) is the one that is served")
            }
            return (name, id)
        }
        guard let target = way(of: name).dropLast().last ?? nil else {
            throw ReleaseError("before the release that \(name) serves there was none")
        }
        return (name, target)
    }

    /// The releases that led to the present one, which is the last; nil where none was served. A rollback takes back what
    /// came after the release that it leads to, so that one after the other leads further back, and not to and fro.
    private func way(of bundle: String) -> [String?] {
        var way: [String?] = []
        for event in history where event.bundle == bundle {
            if event.action == .rollback, let position = way.lastIndex(of: event.release) {
                way.removeSubrange((position + 1)...)
            } else {
                way.append(event.release)
            }
        }
        return way
    }

    var words: String {
        current.isEmpty
            ? "nothing was deployed to this data directory"
            : "deployed are \(current.keys.sorted().joined(separator: ", "))"
    }
}
