package import ControlProtocol
import DataDirectory
import DocumentModel
package import HostConfiguration

/// The releases of a data directory that no host has.
package struct OfflineReleases: Sendable {
    private let data: String

    package init(_ configuration: HostConfiguration) { data = configuration.data }

    /// Goes back to a release that was served before, from the next start on.
    ///
    /// - Throws: a sentence where a host has the directory, or there is nothing to go back to.
    package func rollback(bundle: String?, to id: String?, user: String) async throws -> ReleaseEvent {
        let directory = try DataDirectory.open(data)
        defer { directory.close() }
        let store = ReleaseStore(in: directory)
        var index = try store.index()
        let (bundle, target) = try index.rollback(of: bundle, to: id)
        _ = try await store.verified(bundle, target)
        let event = ReleaseEvent(
            action: .rollback, bundle: bundle, release: target, before: index.current[bundle],
            time: Timestamp.now().rfc3339, user: user)
        index.note(event)
        try store.write(index)
        return event
    }

    /// The release that a bundle serves there, to be taken elsewhere. A host may have the directory: releases never change.
    ///
    /// - Parameter bundle: nil for the only one.
    package func current(of bundle: String?) throws -> PromotedRelease {
        let store = ReleaseStore(data: data)
        let index = try store.index()
        guard let name = bundle ?? (index.current.count == 1 ? index.current.keys.first : nil),
            let id = index.current[name]
        else {
            throw ReleaseError(
                bundle.map { "no release of the bundle \($0) is served in \(data)" }
                    ?? "name the bundle; \(index.words)")
        }
        let record = try store.record(of: name, id)
        return PromotedRelease(
            bundle: name, id: id, checksum: record.checksum, executable: store.executable(of: name, id),
            source: record.source)
    }
}

/// A release of one data directory that another one is to serve too.
package struct PromotedRelease: Sendable {
    package var bundle: String
    package var id: String
    package var checksum: String
    package var executable: String
    package var source: String
}
