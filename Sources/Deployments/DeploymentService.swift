import CommitPipeline
package import ControlProtocol
package import DocumentModel
package import DocumentStore
import FunctionManifest
package import HostConfiguration
import Workers
package import Logging
import Sharing
import ServiceLifecycle

/// Deploys, rolls back and removes releases on the running host, one operation at a time.
package actor DeploymentService: Service {
    /// The host's parts that deployments use.
    package struct Parts: Sendable {
        package var configuration: HostConfiguration
        package var locator: BundleLocator
        package var releases: ReleaseStore
        package var copies: LocalCopies
        package var served: ReleaseSwitch
        package var rules: RulesSwitch
        package var store: DocumentStore
        package var now: @Sendable () -> Timestamp
        package var logger: Logger

        package init(
            configuration: HostConfiguration, locator: BundleLocator, releases: ReleaseStore, copies: LocalCopies,
            served: ReleaseSwitch, rules: RulesSwitch, store: DocumentStore, now: @escaping @Sendable () -> Timestamp,
            logger: Logger
        ) {
            self.configuration = configuration
            self.locator = locator
            self.releases = releases
            self.copies = copies
            self.served = served
            self.rules = rules
            self.store = store
            self.now = now
            self.logger = logger
        }
    }

    let parts: Parts
    private let maker: ServedFunctionsMaker
    /// Held by the operation in progress.
    private let turn = AsyncSemaphore(1)
    private var isStopping = false
    /// How many operators are being asked whether to serve a draft, by its executable: equal builds share one.
    private var asked: [String: Int] = [:]

    package init(_ parts: Parts, maker: ServedFunctionsMaker) {
        self.parts = parts
        self.maker = maker
    }

    /// Waits for the host's shutdown, and then for a deployment in progress, so that it ends before the parts that it
    /// uses.
    package func run() async {
        try? await gracefulShutdown()
        isStopping = true
        await parts.served.close()
        await turn.acquireIgnoringCancellation()
        turn.release()
    }

    // MARK: Deploying

    /// Copies an executable into the data directory as a release and checks that it can be served. What is served
    /// doesn't change.
    ///
    /// - Parameters:
    ///   - executable: the bundle's executable.
    ///   - release: the id and checksum of a release that is promoted from another data directory; nil for a new
    ///     release.
    ///   - files: the rules and indexes that are deployed with it.
    /// - Returns: what activating the release would change.
    package func prepare(
        bundle: String, executable: String, source: String, user: String, as release: (id: String, checksum: String)?,
        with files: RulesSource?
    ) async throws -> DeploymentPlan {
        try await exclusively {
            guard ConfigurationReader.isName(bundle) else {
                throw ReleaseError(
                    "\"\(bundle)\" is not a bundle name; use letters, digits, _ and -, and begin with a letter"
                )
            }
            guard bundle != HostConfiguration.rulesName else {
                throw ReleaseError("\"\(bundle)\" stands for the security rules; give the bundle another name")
            }
            // Checked before the executable is copied and inspected.
            let rules = try await rulesPlan(of: files, user)
            let environment = WorkerLaunch.environment(parts.configuration, function: nil, release: bundle)
            let time = parts.now().rfc3339
            let record = try await parts.releases.add(
                ReleaseRecord(
                    bundle: bundle, id: release?.id ?? "", checksum: release?.checksum ?? "", size: 0, created: time,
                    creator: user, source: source, manifest: Manifest(functions: [])),
                from: executable, at: time
            ) { copy in try await BundleInspector().manifest(of: copy, environment: environment) }
            do {
                let plan = try await plan(for: record, with: rules)
                if !plan.isServedAlready { asked[parts.releases.executable(of: bundle, record.id), default: 0] += 1 }
                return plan
            } catch {
                removeFailed(bundle, record.id)
                throw error
            }
        }
    }

    /// Copies rules and indexes into the data directory as a release. What is served doesn't change.
    ///
    /// - Returns: what activating the release would change; nil if it is deployed already.
    package func prepareRules(_ files: RulesSource, user: String) async throws -> RulesPlan? {
        try await exclusively { try await rulesPlan(of: files, user) }
    }

    /// Switches to a release that was prepared, or that was served before.
    ///
    /// - Parameters:
    ///   - before: the deployed release that the operator's decision was based on; nil if none was deployed.
    ///   - rules: the release of rules to switch to at the same time, and the one that the decision was based on.
    package func activate(
        bundle: String, _ id: String, replacing before: String?, with rules: (id: String, replacing: String?)?,
        as action: ReleaseEvent.Action, user: String
    ) async throws -> ReleaseEvent {
        noteAnswer(bundle, id)
        return try await exclusively {
            let index = try parts.releases.index()
            do {
                try index.check(bundle, isAt: before)
                let release = try await parts.releases.verified(bundle, id)
                var change: RulesChange?
                if let rules { change = try await switchingRules(to: rules.id, from: rules.replacing, index, user) }
                return try await replace(bundle, with: release, change, index, action, user)
            } catch {
                removeFailed(bundle, id)
                throw error
            }
        }
    }

    /// Switches to rules and indexes that were prepared, or served before.
    ///
    /// - Parameter before: as for bundles.
    package func activateRules(_ id: String, replacing before: String?, user: String) async throws -> ReleaseEvent {
        try await exclusively {
            let index = try parts.releases.index()
            let rules = try await switchingRules(to: id, from: before, index, user)
            return try replaceRules(rules, index, .deploy, user)
        }
    }

    /// Switches back to a release that was served before, and to the rules that it was served with.
    ///
    /// - Parameter id: the release; nil for the one before the current one.
    package func rollback(bundle: String?, to id: String?, user: String) async throws -> ReleaseEvent {
        try await exclusively {
            let index = try parts.releases.index()
            let (bundle, target) = try index.rollback(of: bundle, to: id)
            if bundle == HostConfiguration.rulesName {
                return try replaceRules(
                    RulesChange(
                        rules: try parts.releases.rules(target), release: target, before: index.current[bundle]),
                    index, .rollback, user)
            }
            let rules = try index.rules(undoing: bundle, backTo: target).map { change in
                RulesChange(
                    rules: try change.release.map { try parts.releases.rules($0) } ?? files(),
                    release: change.release, before: change.before)
            }
            return try await replace(
                bundle, with: try await parts.releases.verified(bundle, target), rules, index, .rollback, user)
        }
    }

    /// Deletes a release that was prepared and never served, unless another operator is being asked about it.
    package func discard(bundle: String, _ id: String) throws {
        // A prepared release of the rules may be another operator's too; the next start deletes it.
        guard bundle != HostConfiguration.rulesName else { return }
        noteAnswer(bundle, id)
        guard turn.available > 0 else { return }
        removeDraft(bundle, id, try parts.releases.index())
    }

    /// An operator who was asked about a prepared release has answered.
    private func noteAnswer(_ bundle: String, _ id: String) {
        let executable = parts.releases.executable(of: bundle, id)
        if let count = asked[executable] { asked[executable] = count > 1 ? count - 1 : nil }
    }

    /// Deletes a release that was prepared and can't be served: otherwise each attempt would leave a copy of its bundle
    /// until the next start.
    ///
    /// One that was served stays. Without a history it isn't known which were: the index may have been deleted.
    private func removeFailed(_ bundle: String, _ id: String) {
        guard let index = try? parts.releases.index(), !index.history.isEmpty else { return }
        removeDraft(bundle, id, index)
    }

    private func removeDraft(_ bundle: String, _ id: String, _ index: ReleaseIndex) {
        guard !index.served(of: bundle).contains(id),
            // If the index was deleted since the host's start, it doesn't have what is served.
            parts.served.current.release(of: bundle)?.id != id,
            !parts.served.executables.contains(parts.releases.executable(of: bundle, id)),
            asked[parts.releases.executable(of: bundle, id)] == nil
        else { return }
        parts.releases.remove(bundle, id)
    }

    /// Stops serving a bundle's deployed release. If `functions.json` names the bundle, its local build is served
    /// instead.
    package func remove(bundle: String, user: String) async throws -> ReleaseEvent {
        try await exclusively {
            let index = try parts.releases.index()
            guard index.current[bundle] != nil else {
                throw ReleaseError("the bundle \(bundle) has no deployed release; \(index.summary)")
            }
            if bundle == HostConfiguration.rulesName {
                return try replaceRules(
                    RulesChange(rules: try files(), release: nil, before: index.current[bundle]), index, .remove, user)
            }
            var local: Release?
            if let configured = parts.configuration.bundles.first(where: { $0.name == bundle }) {
                let executable = try parts.locator.executable(of: configured)
                local = try await Release.local(configured, parts.configuration, executable)
            }
            return try await replace(bundle, with: local, nil, index, .remove, user)
        }
    }

    /// Serves a new local build of a bundle of the configuration.
    ///
    /// - Parameters:
    ///   - executable: what was built; older builds in another configuration may exist beside it.
    ///   - id: the new build's id, which no build before had.
    package func reload(bundle name: String, executable: String, id: String) async throws {
        try await inTurn {
            guard let configured = parts.configuration.bundles.first(where: { $0.name == name }) else {
                throw ReleaseError("functions.json has no bundle \(name)")
            }
            let build = try await Release.local(configured, parts.configuration, executable)
            let release = try await parts.copies.copy(build, id: id)
            do {
                try await serveCopies(try await next(replacing: name, with: release))
            } catch {
                parts.copies.remove([release])
                throw error
            }
        }
    }

    /// Switches the served local builds to new copies of them, which have the current values of params.
    ///
    /// - Parameters:
    ///   - configuration: the current content of `functions.json`. Only params and secrets are taken from it.
    ///   - id: the new builds' id, which no build before had.
    /// - Returns: the bundles that serve a deployed release; their params don't change.
    package func reloadParams(_ configuration: HostConfiguration, id: String) async throws -> [String] {
        try await inTurn {
            await maker.replaceParams(with: configuration)
            let current = parts.served.current
            var releases: [Release] = []
            do {
                for release in current.releases {
                    releases.append(release.isLocal ? try await parts.copies.copy(release, id: id) : release)
                }
                try await serveCopies(try await maker.make(releases, after: current))
            } catch {
                parts.copies.remove(releases)
                throw error
            }
            return releases.filter { !$0.isLocal }.map(\.bundle)
        }
    }

    private func serveCopies(_ next: ServedFunctions) async throws {
        let before = parts.served.current.releases
        try await parts.served.probe(next)
        try await parts.served.serve(next)
        // The replaced builds may still have calls, for which workers are started.
        parts.copies.remove(allBut: before + next.releases)
    }

    private func replace(
        _ bundle: String, with release: Release?, _ rules: RulesChange?, _ index: ReleaseIndex,
        _ action: ReleaseEvent.Action, _ user: String
    ) async throws -> ReleaseEvent {
        let next = try await next(replacing: bundle, with: release)
        try await parts.served.probe(next)
        var changed = index
        let event = ReleaseEvent(
            action: action, bundle: bundle, release: release.flatMap { $0.isLocal ? nil : $0.id },
            before: index.current[bundle], rules: rules?.event, time: parts.now().rfc3339, user: user)
        if let baseline = rules?.baseline { changed.note(baseline) }
        changed.note(event)
        do {
            // The index is written first: once the command succeeds, a restart serves the same release.
            try parts.releases.write(changed)
            try await parts.served.serve(next) { [parts] in
                if let rules { parts.rules.serve(rules.rules, release: rules.release, in: parts.store) }
            }
        } catch {
            parts.served.discard(next)
            try? parts.releases.write(index)
            throw error
        }
        parts.logger.notice(
            "switched to another release",
            metadata: [
                "bundle": "\(bundle)", "release": "\(release?.id ?? "none")", "action": "\(action.rawValue)",
                "user": "\(user)",
            ])
        try? parts.releases.clean(
            keeping: parts.configuration.releases.keep, drafts: false, using: parts.served.executables)
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

    // MARK: Reports

    private func plan(for record: ReleaseRecord, with rules: RulesPlan?) async throws -> DeploymentPlan {
        let release = try parts.releases.release(of: record.bundle, record.id)
        let next = try await next(replacing: record.bundle, with: release)
        let before = parts.served.current.release(of: record.bundle)
        let served = before?.manifest.functions.map(\.name) ?? []
        let counts = try await served.isEmpty ? [] : parts.store.outbox.counts(of: served)
        return DeploymentPlan(
            bundle: record.bundle, release: record.id, checksum: record.checksum, size: record.size,
            current: try parts.releases.index().current[record.bundle], served: before?.id,
            functions: next.manifests.count,
            difference: ReleaseDifference(
                from: before?.manifest, to: record.manifest,
                pending: { name in
                    guard let found = counts.first(where: { $0.function == name }) else { return 0 }
                    return found.damage == nil ? found.pending : nil
                }),
            rules: rules)
    }

    package func listing() throws -> ReleaseListing {
        let index = try parts.releases.index()
        let names = Set(parts.configuration.bundles.map(\.name)).union(index.current.keys)
            .union(index.history.map(\.bundle)).subtracting([HostConfiguration.rulesName])
        var bundles = names.sorted().map { name in
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
        if let rules = rulesListing(index) { bundles.append(rules) }
        return ReleaseListing(bundles: bundles, history: index.history)
    }

    // MARK: Mutual exclusion

    /// Runs one operation at a time. A second one fails instead of waiting, because the first one changes what the
    /// operator based it on.
    func exclusively<Result>(_ body: () async throws -> Result) async throws -> Result {
        guard !isStopping else { throw ReleaseError.stopping }
        guard turn.tryAcquire() else {
            throw ReleaseError("another deployment is in progress; retry when it has ended")
        }
        defer { turn.release() }
        return try await body()
    }

    /// Runs an operation that doesn't depend on what is served, as soon as no other one is in progress.
    private func inTurn<Result>(_ body: () async throws -> Result) async throws -> Result {
        try await turn.acquire()
        defer { turn.release() }
        guard !isStopping else { throw ReleaseError.stopping }
        return try await body()
    }
}
