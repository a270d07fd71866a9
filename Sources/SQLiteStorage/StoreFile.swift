import StorageEngine
import Foundation

/// Operations on files that are put in place completely or not at all.
package enum StoreFile {
    /// The suffixes of the files that belong to a database besides its main file.
    static let companions = ["-wal", "-shm"]

    package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Nil if there is no such file.
    static func size(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// The size of a database with its companions, in bytes.
    static func sizeOfDatabase(_ path: String) -> Int {
        ([""] + companions).reduce(0) { $0 + (size(path + $1) ?? 0) }
    }

    /// Removes a database and its companions; they need not exist.
    static func removeDatabase(_ path: String) { for suffix in [""] + companions { unlink(path + suffix) } }

    /// Creates an empty file, readable by its owner alone, and replaces one that exists.
    ///
    /// - Throws: `StorageError` with the system's reason.
    static func makeEmpty(_ path: String) throws { close(try openEmpty(path)) }

    /// The same, but leaves it open for writing, because another file may have the name by the time it is opened.
    ///
    /// - Returns: the descriptor, which is the caller's.
    /// - Throws: `StorageError` with the system's reason.
    package static func openEmpty(_ path: String) throws -> CInt {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw refusal("\(path) can't be written") }
        return descriptor
    }

    /// Whether a path is a store's file or one of its companions: writing there would destroy the store.
    ///
    /// Directories are compared by identity, whatever path names them.
    package static func isPart(_ path: String, of file: String) -> Bool {
        func parts(_ path: String) -> (directory: stat, name: String)? {
            let url = URL(fileURLWithPath: path)
            var status = stat()
            guard stat(url.deletingLastPathComponent().path, &status) == 0 else { return nil }
            return (status, url.lastPathComponent)
        }
        guard let path = parts(path), let file = parts(file), path.directory.st_dev == file.directory.st_dev,
            path.directory.st_ino == file.directory.st_ino
        else { return false }
        return path.name == file.name || path.name.hasPrefix(file.name + "-") || path.name.hasPrefix(file.name + ".")
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

    /// Gives a file that root made to the owner of its directory, so that the host's user can go on with it.
    static func giveToOwnerOfDirectory(_ path: String) throws {
        guard geteuid() == 0 else { return }
        var status = stat()
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard stat(directory, &status) == 0, lchown(path, status.st_uid, status.st_gid) == 0 else {
            throw refusal("\(path) can't be given to the owner of \(directory)")
        }
    }

    package static func move(_ path: String, to target: String) throws {
        guard rename(path, target) == 0 else { throw refusal("\(target) can't be put in place") }
    }

    /// Gives a file its name if no other file has it.
    package static func moveWhereFree(_ path: String, to target: String) throws {
        if link(path, target) == 0 {
            unlink(path)
        } else if errno == EEXIST || exists(target) {
            throw isThere(target)
        } else {
            // The file system doesn't support hard links.
            try move(path, to: target)
        }
    }

    /// Waits until a file, or a directory's entries, are on the disk.
    package static func sync(_ path: String) throws {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { throw refusal("\(path) can't be opened") }
        defer { close(descriptor) }
        guard fsync(descriptor) == 0 else { throw refusal("\(path) can't be written to disk") }
    }

    package static func syncDirectory(of path: String) throws {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        try sync(directory.isEmpty ? "/" : directory)
    }

    /// Copies a file piece by piece and syncs the copy.
    ///
    /// - Parameter progress: called with the bytes of each piece.
    static func copy(_ path: String, to target: String, progress: (Int) throws -> Void) throws {
        let source = open(path, O_RDONLY | O_CLOEXEC)
        guard source >= 0 else { throw refusal("\(path) can't be read") }
        defer { close(source) }
        let copy = try openEmpty(target)
        defer { close(copy) }
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        while true {
            let count = read(source, &piece, piece.count)
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw refusal("\(path) can't be read") }
            guard count > 0 else { break }
            var written = 0
            while written < count {
                let part = piece.withUnsafeBytes { bytes in
                    write(copy, bytes.baseAddress.map { $0 + written }, count - written)
                }
                if part < 0, errno == EINTR { continue }
                guard part > 0 else { throw refusal("\(target) can't be written") }
                written += part
            }
            try progress(count)
        }
        guard fsync(copy) == 0 else { throw refusal("\(target) can't be written to disk") }
    }

    static func isThere(_ path: String) -> StorageError {
        StorageError(.unavailable, "\(path) is there already; name another file, or say that it may be replaced")
    }

    private static func refusal(_ what: String) -> StorageError {
        StorageError(.unavailable, "\(what): \(String(cString: strerror(errno)))")
    }
}
