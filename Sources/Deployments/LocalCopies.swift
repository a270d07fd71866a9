package import DataDirectory
import Foundation

/// Copies of local builds, in `local` of the data directory. Workers are started from the copy, because the next build
/// replaces the built file at any time.
package struct LocalCopies: Sendable {
    private let directory: String

    package init(in data: DataDirectory) { directory = data.file("local") }

    func copy(_ release: Release, id: String) async throws -> Release {
        var copy = release
        copy.id = id
        let place = place(of: copy)
        copy.executable = place + "/bundle"
        let (source, target, parent) = (release.executable, copy.executable, directory)
        do {
            try await ReleaseStore.runBlocking {
                // An earlier run of the host may have left one.
                try? FileManager.default.removeItem(atPath: place)
                try FileBytes.makeDirectory(parent)
                try FileBytes.makeDirectory(place)
                let program = (source as NSString).resolvingSymlinksInPath
                try FileBytes.copy(program, to: target)
                try FileBytes.giveAll(place, toOwnerOf: parent)
            }
        } catch {
            // A full disk would stay full.
            remove([copy])
            throw error
        }
        return copy
    }

    private func place(of copy: Release) -> String { "\(directory)/\(copy.bundle)-\(copy.id)" }

    /// Deletes copies that can't be served. Deployed releases among them aren't copies, and stay.
    func remove(_ copies: [Release]) {
        for copy in copies where copy.isLocal { try? FileManager.default.removeItem(atPath: place(of: copy)) }
    }

    /// Deletes the copies of all other builds. Workers that still run keep their open file.
    func remove(allBut releases: [Release]) {
        let kept = Set(releases.map { "\($0.bundle)-\($0.id)" })
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where !kept.contains(name) {
            try? FileManager.default.removeItem(atPath: directory + "/" + name)
        }
    }
}
