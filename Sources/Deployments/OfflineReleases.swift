package import ControlProtocol
import DataDirectory
import DocumentModel
package import HostConfiguration

/// The releases of a data directory while no host runs on it.
package struct OfflineReleases: Sendable {
    private let data: String

    package init(_ configuration: HostConfiguration) { data = configuration.data }

    /// Rolls back to a release that was served before. The next start of the host serves it.
    ///
    /// - Throws: an error whose description is a sentence for the operator, if a host runs on the directory or there is
    ///   no release to roll back to.
    package func rollback(bundle: String?, to id: String?, user: String) async throws -> ReleaseEvent {
        let directory = try DataDirectory.openExisting(data)
        defer { directory.close() }
        let store = ReleaseStore(in: directory)
        var index = try store.index()
        let (bundle, target) = try index.rollback(of: bundle, to: id)
        let rules = index.rules(undoing: bundle, backTo: target)
        if bundle == HostConfiguration.rulesName {
            _ = try store.rules(target)
        } else {
            _ = try await store.verified(bundle, target)
            if let id = rules?.release { _ = try store.rules(id) }
        }
        let event = ReleaseEvent(
            action: .rollback, bundle: bundle, release: target, before: index.current[bundle], rules: rules,
            time: Timestamp.wallClock().rfc3339, user: user)
        index.note(event)
        try store.write(index)
        return event
    }

    /// The release that a bundle serves, to be promoted to another data directory. A host may run on this directory,
    /// because releases never change.
    ///
    /// - Parameter bundle: the bundle; nil if only one is deployed.
    package func current(of bundle: String?) throws -> PromotedRelease {
        // Otherwise it would seem to have no releases.
        try DataDirectory.checkAccess(data)
        let store = ReleaseStore(data: data)
        let index = try store.index()
        guard bundle != HostConfiguration.rulesName else {
            throw ReleaseError("rules aren't promoted; deploy them: functions-host deploy --only rules --env …")
        }
        guard let name = bundle ?? (index.bundles.count == 1 ? index.bundles.first : nil),
            let id = index.current[name]
        else {
            throw ReleaseError(
                bundle.map { "the bundle \($0) has no deployed release in \(data)" }
                    ?? "name the bundle; \(index.summary)")
        }
        let record = try store.record(of: name, id)
        return PromotedRelease(
            bundle: name, id: id, checksum: record.checksum, executable: store.executable(of: name, id),
            source: record.source)
    }
}

/// A release of one data directory that is promoted to another one.
package struct PromotedRelease: Sendable {
    package var bundle: String
    package var id: String
    package var checksum: String
    package var executable: String
    package var source: String
}
