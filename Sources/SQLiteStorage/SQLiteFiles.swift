import Foundation
import StorageEngine

/// The files of a database: its main file and the companions that SQLite makes beside it.
extension StoreFile {
    /// The suffixes of the files that belong to a database besides its main file.
    static var companions: [String] { EmbeddedEngineKind.sqlite.companions }

    /// The size of a database with its companions, in bytes.
    static func sizeOfDatabase(_ path: String) -> Int {
        ([""] + companions).reduce(0) { $0 + (size(path + $1) ?? 0) }
    }

    /// Removes a database and its companions; they need not exist.
    static func removeDatabase(_ path: String) { for suffix in [""] + companions { unlink(path + suffix) } }

    /// Removes the companions of a database that another one replaces, whose pages its log would overlay.
    ///
    /// - Throws: `StorageError` with the system's reason if one stays.
    static func removeCompanions(_ path: String) throws {
        var hasRemoved = false
        for companion in companions.map({ path + $0 }) {
            if unlink(companion) == 0 {
                hasRemoved = true
            } else if errno != ENOENT {
                throw refusal("\(companion) can't be removed")
            }
        }
        // Otherwise a power cut might leave the log beside the new file.
        if hasRemoved { try syncDirectory(of: path) }
    }

    /// - Throws: `StorageError` if there is a database of this name, or a companion of one, which would be taken for the
    ///   new one's.
    static func checkIsFree(_ path: String) throws {
        for file in ([""] + companions).map({ path + $0 }) where exists(file) { throw isThere(file) }
    }

    /// Makes a database readable for its owner alone; creates it empty if it is missing. SQLite gives the companions that
    /// it creates the permissions of the main file.
    static func keepPrivate(_ path: String) throws {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw refusal("\(path) can't be opened") }
        close(descriptor)
        // Fails only for another user's file, whose permissions are theirs.
        for suffix in [""] + companions { chmod(path + suffix, 0o600) }
    }
}
