import CFunctionsSystem

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// The system's functions, which those of ``FileBytes`` with the same names hide.
private func systemOpen(_ path: String, _ flags: Int32) -> Int32 { open(path, flags, 0o600) }
private func systemClose(_ descriptor: Int32) { _ = close(descriptor) }

/// Reads small files and writes them atomically, so that a power cut leaves the old or the new content.
///
/// What root makes belongs to the owner of the directory that it is in: the host's user goes on with it.
package enum FileBytes {
    /// Opens a file whose descriptor child processes don't inherit.
    ///
    /// - Returns: the descriptor; negative if opening failed, with the reason in `errno`.
    package static func open(_ path: String, _ flags: Int32) -> Int32 { systemOpen(path, flags | O_CLOEXEC) }

    package static func close(_ descriptor: Int32) { systemClose(descriptor) }

    /// Reads the first 4 KiB of a file. Small files have no more.
    static func read(_ descriptor: Int32) throws(DataDirectoryError) -> [UInt8] {
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = pread(descriptor, &bytes, bytes.count, 0)
        guard count >= 0 else { throw .refused(by: errno, "a file of the data directory can't be read") }
        return Array(bytes[..<count])
    }

    static func write(_ bytes: [UInt8], to descriptor: Int32, _ path: String) throws(DataDirectoryError) {
        var written = 0
        while written < bytes.count {
            let count = bytes.withUnsafeBytes { buffer in
                pwrite(descriptor, buffer.baseAddress.map { $0 + written }, buffer.count - written, off_t(written))
            }
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .refused(by: errno, "\(path) can't be written") }
            written += count
        }
    }

    /// Replaces a file atomically: writes another file, syncs it, renames it and syncs the directory.
    ///
    /// - Throws: an error whose description is a sentence for the operator; the other file is deleted then.
    package static func replace(_ name: String, in directory: String, with bytes: [UInt8]) throws(DataDirectoryError) {
        let path = directory + "/" + name
        let draft = path + ".new"
        do throws(DataDirectoryError) {
            try writeSynced(bytes, to: draft, in: directory)
            guard rename(draft, path) == 0 else { throw .refused(by: errno, "\(path) can't be replaced") }
        } catch {
            // On a full disk each attempt would leave one.
            unlink(draft)
            throw error
        }
        try sync(directory)
    }

    /// Creates a directory for its owner alone, and those above it that are missing. Those that exist stay as they are.
    package static func makeDirectories(_ path: String) throws(DataDirectoryError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/" + part
            try makeDirectory(made)
        }
    }

    /// Creates a directory for its owner alone, in one that exists: an ephemeral data directory that was deleted
    /// meanwhile isn't made again. One that exists stays as it is.
    package static func makeDirectory(_ path: String) throws(DataDirectoryError) {
        guard mkdir(path, 0o700) == 0 else {
            let reason = errno
            // A directory above may be read-only and exist all the same.
            if reason == EEXIST || FileStatus(path) != nil { return }
            throw .refused(by: reason, "the directory \(path) can't be created")
        }
        let descriptor = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .refused(by: errno, "\(path) can't be opened") }
        defer { close(descriptor) }
        try give(descriptor, path, toOwnerOf: path + "/..")
    }

    /// Gives a file or directory that root has just made to the owner of the directory that it is in.
    static func give(
        _ descriptor: Int32, _ path: String, toOwnerOf directory: String
    ) throws(DataDirectoryError) {
        guard functions_give_to_owner(descriptor, directory) == 0 else {
            throw .refused(by: errno, "\(path) can't be given to the owner of the directory that it is in")
        }
    }

    /// Gives a file that root has made, or a directory with all in it, to the owner of the directory that it is in.
    package static func giveAll(_ path: String, toOwnerOf directory: String) throws(DataDirectoryError) {
        guard geteuid() == 0 else { return }
        guard functions_give_path_to_owner(path, directory) == 0 else {
            throw .refused(by: errno, "\(path) can't be given to the owner of the directory that it is in")
        }
        // What a link leads to isn't in the directory.
        var byte = CChar(0)
        guard readlink(path, &byte, 1) < 0 else { return }
        for name in (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? [] {
            try giveAll(path + "/" + name, toOwnerOf: directory)
        }
    }

    /// Deletes a file durably. Succeeds if there is none.
    package static func remove(_ name: String, in directory: String) throws(DataDirectoryError) {
        let path = directory + "/" + name
        guard unlink(path) == 0 || errno == ENOENT else { throw .refused(by: errno, "\(path) can't be deleted") }
        try sync(directory)
    }

    /// Creates a file for its owner alone; one that exists stays as it is.
    ///
    /// - Throws: an error whose description is a sentence for the operator; there is no new file then.
    package static func create(_ path: String, with bytes: [UInt8]) throws(DataDirectoryError) {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        guard descriptor >= 0 else {
            guard errno == EEXIST else { throw .refused(by: errno, "\(path) can't be created") }
            throw DataDirectoryError("\(path) already exists; name another file")
        }
        defer { close(descriptor) }
        do throws(DataDirectoryError) {
            try write(bytes, to: descriptor, path)
            guard fsync(descriptor) == 0 else { throw .refused(by: errno, "\(path) can't be written to disk") }
        } catch {
            unlink(path)
            throw error
        }
    }

    /// Copies a regular file with its permissions, without waiting until the copy is on the disk. Foundation's copy of a file
    /// that becomes shorter meanwhile, as one that is built or copied again, never ends.
    ///
    /// - Throws: also if the file is changed meanwhile: half of what it was and half of what it becomes may be neither. What
    ///   was copied until then stays.
    package static func copy(_ path: String, to target: String) throws(DataDirectoryError) {
        // A pipe isn't waited for.
        let source = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC)
        guard source >= 0 else { throw .refused(by: errno, "\(path) can't be read") }
        defer { close(source) }
        let before = try status(of: source, path)
        guard before.st_mode & S_IFMT == S_IFREG else { throw DataDirectoryError("\(path) isn't a regular file") }
        let copy = open(target, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC)
        guard copy >= 0 else { throw .refused(by: errno, "\(target) can't be created") }
        defer { close(copy) }
        guard fchmod(copy, before.st_mode & 0o777) == 0 else {
            throw .refused(by: errno, "the permissions of \(target) can't be set")
        }
        try copyBytes(of: source, path, count: Int(before.st_size), to: copy, target)
        guard isUnchanged(try status(of: source, path), since: before) else {
            throw DataDirectoryError("\(path) was changed while it was copied; once it is complete, it can be")
        }
    }

    /// Ends early if there are fewer bytes.
    private static func copyBytes(
        of source: Int32, _ path: String, count total: Int, to copy: Int32, _ target: String
    ) throws(DataDirectoryError) {
        var buffer = [UInt8](repeating: 0, count: 1 << 18)
        var copied = 0
        while copied < total {
            let count = pread(source, &buffer, min(buffer.count, total - copied), off_t(copied))
            if count < 0, errno == EINTR { continue }
            guard count >= 0 else { throw .refused(by: errno, "\(path) can't be read") }
            guard count > 0 else { return }
            var written = 0
            while written < count {
                let more = buffer.withUnsafeBytes { bytes in
                    pwrite(
                        copy, bytes.baseAddress.map { $0 + written }, count - written, off_t(copied + written))
                }
                if more < 0, errno == EINTR { continue }
                guard more >= 0 else { throw .refused(by: errno, "\(target) can't be written") }
                written += more
            }
            copied += count
        }
    }

    private static func status(of descriptor: Int32, _ path: String) throws(DataDirectoryError) -> stat {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { throw .refused(by: errno, "\(path) can't be examined") }
        return status
    }

    private static func isUnchanged(_ now: stat, since earlier: stat) -> Bool {
        #if canImport(Darwin)
            let (time, before) = (now.st_mtimespec, earlier.st_mtimespec)
        #else
            let (time, before) = (now.st_mtim, earlier.st_mtim)
        #endif
        return now.st_size == earlier.st_size && time.tv_sec == before.tv_sec && time.tv_nsec == before.tv_nsec
    }

    private static func sync(_ directory: String) throws(DataDirectoryError) {
        let parent = open(directory, O_RDONLY | O_DIRECTORY)
        guard parent >= 0 else { throw .refused(by: errno, "\(directory) can't be opened") }
        defer { close(parent) }
        guard fsync(parent) == 0 else { throw .refused(by: errno, "\(directory) can't be written to disk") }
    }

    private static func writeSynced(
        _ bytes: [UInt8], to path: String, in directory: String
    ) throws(DataDirectoryError) {
        // A draft that a killed process has left may be another user's.
        unlink(path)
        let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .refused(by: errno, "\(path) can't be written") }
        defer { close(descriptor) }
        try write(bytes, to: descriptor, path)
        try give(descriptor, path, toOwnerOf: directory)
        guard fsync(descriptor) == 0 else { throw .refused(by: errno, "\(path) can't be written to disk") }
    }
}
