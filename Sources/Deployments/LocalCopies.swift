package import DataDirectory
import Foundation

/// Copies of bundles as they were built, in the directory `local` of the data: the next build replaces the file from which
/// a worker may be started at any time.
package struct LocalCopies: Sendable {
    private let directory: String

    package init(in data: DataDirectory) { directory = data.file("local") }

    func copy(_ release: Release, id: String) async throws -> Release {
        let place = "\(directory)/\(release.bundle)-\(id)"
        var copy = release
        copy.id = id
        copy.executable = place + "/bundle"
        let (source, target) = (release.executable, copy.executable)
        try await ReleaseStore.aside {
            // Of an earlier run of the host.
            try? FileManager.default.removeItem(atPath: place)
            try FileManager.default.createDirectory(atPath: place, withIntermediateDirectories: true)
            let program = (source as NSString).resolvingSymlinksInPath
            try FileManager.default.copyItem(atPath: program, toPath: target)
        }
        return copy
    }

    /// Those that aren't served any more. What still runs of them has its file nevertheless.
    func remove(allBut releases: [Release]) {
        let kept = Set(releases.map { "\($0.bundle)-\($0.id)" })
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where !kept.contains(name) {
            try? FileManager.default.removeItem(atPath: directory + "/" + name)
        }
    }
}
