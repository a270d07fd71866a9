import DataDirectory
import EmbeddedStorage
import StorageEngine

/// Where backups and exports may be written.
enum OutputPlace {
    /// Checks that a file takes the place of nothing that a host needs, in any data directory, and of files only.
    ///
    /// A host that serves a store would go on with the files that it has open, and lose what it commits to them. One
    /// that starts later would take a backup for its own. Without its lock, a second host could use the directory;
    /// without its keys, all users would be signed out.
    ///
    /// - Parameter what: what is written there, in errors.
    /// - Throws: `StorageError` with a sentence for the operator.
    static func check(_ file: String, for what: String) throws(StorageError) {
        let places = StoreFile.places(of: file)
        for (place, directory) in zip(places, places.dropFirst()) where DataDirectory.isOne(directory) {
            let owner: String? =
                if EmbeddedStore(in: directory).isPart(file) {
                    "the store of the data directory"
                } else if DataDirectory.isOfHost(place) {
                    "the host of the data directory"
                } else { nil }
            guard let owner else { continue }
            throw StorageError(
                .unavailable, "\(file) belongs to \(owner) \(directory); name a place elsewhere for the \(what)")
        }
        guard !StoreFile.isSpecial(file) else {
            throw StorageError(.unavailable, "\(file) is a device, a pipe or a socket; name a file for the \(what)")
        }
    }
}
