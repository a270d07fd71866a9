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
import Synchronization

/// The directory of all durable data, owned by this process until it is closed.
///
/// Only one process at a time can open it: the file `lock` is locked, and the directory itself, because the file can be
/// deleted. The kernel releases the locks when the process ends in any way. The file `version` has the format's number.
/// Only the owner can access the directory.
package final class DataDirectory: Sendable {
    /// The path as it was given, absolute or relative.
    package let path: String
    private let isEphemeral: Bool
    /// The locked descriptors; none once closed.
    private let locks: Mutex<[Int32]>

    /// A migration from one format to the next. It must not change after it was released.
    package struct Migration: Sendable {
        package var name: String
        /// Migrates the directory at this path. It may run again after a crash and must tolerate that.
        package var run: @Sendable (String) throws -> Void

        package init(_ name: String, run: @escaping @Sendable (String) throws -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// The first migration leads from format 1 to 2. The current format is the number of migrations plus one.
    package static let migrations: [Migration] = []

    private init(path: String, isEphemeral: Bool, locks: [Int32]) {
        self.path = path
        self.isEphemeral = isEphemeral
        self.locks = Mutex(locks)
    }

    deinit { close() }

    /// Opens and locks the directory; creates it if it doesn't exist.
    ///
    /// - Throws: an error whose description is a sentence for the operator if another process has the directory open, a
    ///   newer host wrote it, or the file system fails. The directory is unchanged then, except for completed
    ///   migrations.
    package static func open(_ path: String, migrations: [Migration] = migrations) throws(DataDirectoryError)
        -> DataDirectory
    {
        try makeDirectory(path)
        let directory = DataDirectory(path: path, isEphemeral: false, locks: try takeLocks(path))
        try DataVersion(directory: path).migrate(with: migrations)
        return directory
    }

    /// Opens and locks a directory that is there: a path that is wrong makes none.
    ///
    /// - Throws: as ``open(_:migrations:)``, and if the data directory is missing.
    package static func openExisting(_ path: String) throws(DataDirectoryError) -> DataDirectory {
        guard FileStatus(path + "/version") != nil else {
            throw DataDirectoryError(
                "the data directory \(path) does not exist; name another one with --data or --config")
        }
        return try open(path)
    }

    /// Creates a directory under `TMPDIR` that is deleted when it is closed.
    ///
    /// - Throws: an error whose description is a sentence for the operator if the file system fails.
    package static func ephemeral() throws(DataDirectoryError) -> DataDirectory {
        try ephemeral(in: getenv("TMPDIR").map { String(cString: $0) })
    }

    /// - Parameter place: the value of `TMPDIR`; an empty one counts as none.
    static func ephemeral(in place: String?) throws(DataDirectoryError) -> DataDirectory {
        let base = place.flatMap { $0.isEmpty ? nil : $0 } ?? "/tmp"
        var template = Array((base + "/functions-XXXXXX").utf8CString)
        // In one step: a signal that came between would leave it.
        let path: String? = ephemeralPaths.withLock { paths in
            guard mkdtemp(&template) != nil else { return nil }
            let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
            paths.insert(path)
            return path
        }
        guard let path else { throw .refused(by: errno, "a temporary data directory in \(base) can't be created") }
        let directory = DataDirectory(path: path, isEphemeral: true, locks: try takeLocks(path))
        try DataVersion(directory: path).migrate(with: migrations)
        return directory
    }

    /// The ephemeral directories that this process hasn't closed yet.
    private static let ephemeralPaths = Mutex<Set<String>>([])

    /// Deletes the ephemeral directories of this process, which is about to end without closing them.
    package static func deleteEphemeral() {
        for path in ephemeralPaths.withLock({ $0 }) {
            // Under another name, so that a host that is still at work adds no files to it meanwhile.
            let ended = path + "-ended"
            try? FileManager.default.removeItem(atPath: rename(path, ended) == 0 ? ended : path)
        }
    }

    /// Whether a directory is a host's data directory, in use or not.
    package static func isOne(_ path: String) -> Bool {
        FileStatus(path + "/lock") != nil && FileStatus(path + "/version") != nil
    }

    /// The host's own files and directories, besides its store.
    private static let namesOfHost: Set<String> = [
        "lock", "version", "control.sock", "auth", "app-check", "service-accounts", "releases", "local", "logs",
    ]

    /// Whether a path in a data directory is that of a file or directory which the host needs, besides its store.
    package static func isOfHost(_ path: String) -> Bool {
        path.split(separator: "/").last.map { namesOfHost.contains(String($0)) } ?? false
    }

    /// Checks that this process's user may list a directory. One that doesn't exist passes.
    ///
    /// - Throws: an error whose description is a sentence for the operator.
    package static func checkAccess(_ path: String) throws(DataDirectoryError) {
        guard access(path, R_OK | X_OK) != 0, errno == EACCES else { return }
        throw refusal(of: path, to: geteuid())
    }

    /// Why a directory can't be used by a user who may not enter it.
    package static func refusal(of path: String, to user: UInt32) -> DataDirectoryError {
        guard let owner = FileStatus(path)?.owner, owner != user else {
            return .refused(by: EACCES, "\(path) can't be opened")
        }
        return DataDirectoryError(
            "\(path) belongs to the user \(owner), and this command runs as the user \(user); run it as that user: "
                + "sudo -u '#\(owner)' functions-host …")
    }

    /// The path of a file or directory in the data directory.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Releases the lock; deletes an ephemeral directory. Closing twice is harmless.
    package func close() {
        let descriptors = locks.withLock { descriptors in
            defer { descriptors = [] }
            return descriptors
        }
        guard !descriptors.isEmpty else { return }
        // Delete before unlocking, so that no process opens a partly deleted directory. If that fails, the system
        // cleans up the temporary directory.
        if isEphemeral {
            try? FileManager.default.removeItem(atPath: path)
            Self.ephemeralPaths.withLock { _ = $0.remove(path) }
        }
        for descriptor in descriptors {
            // A process that is just being started may still have a copy of it, which holds the lock.
            _ = flock(descriptor, LOCK_UN)
            FileBytes.close(descriptor)
        }
    }

    private static func makeDirectory(_ path: String) throws(DataDirectoryError) {
        try FileBytes.makeDirectories(path)
        guard let status = FileStatus(path) else {
            throw .refused(by: errno, "the data directory \(path) can't be opened")
        }
        guard status.isDirectory else {
            throw DataDirectoryError("\(path) is a file; name a directory for the data")
        }
        guard status.owner == geteuid() || geteuid() == 0 else {
            throw DataDirectoryError(
                "the data directory \(path) belongs to user \(status.owner), and this host runs as user \(geteuid())")
        }
        // Checked before anything is changed.
        try DataVersion(directory: path).refuseForeignFiles()
        if status.isOpenToOthers, chmod(path, 0o700) != 0 {
            throw .refused(by: errno, "the permissions of the data directory \(path) can't be restricted to its owner")
        }
    }

    private static func takeLocks(_ path: String) throws(DataDirectoryError) -> [Int32] {
        let directory = try lockDirectory(path)
        do throws(DataDirectoryError) { return [try lockFile(in: path)] + directory } catch {
            for descriptor in directory { FileBytes.close(descriptor) }
            throw error
        }
    }

    /// - Returns: nothing if the file system can't lock directories.
    private static func lockDirectory(_ path: String) throws(DataDirectoryError) -> [Int32] {
        let descriptor = FileBytes.open(path, O_RDONLY | O_DIRECTORY)
        guard descriptor >= 0 else { throw .refused(by: errno, "\(path) can't be opened") }
        if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return [descriptor] }
        let reason = errno
        FileBytes.close(descriptor)
        guard reason != EWOULDBLOCK else { throw inUse(path) }
        return []
    }

    private static func lockFile(in path: String) throws(DataDirectoryError) -> Int32 {
        let file = path + "/lock"
        // Not inherited: a worker that outlives its host must not keep the lock.
        let made = FileBytes.open(file, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW)
        let descriptor = made < 0 && errno == EEXIST ? FileBytes.open(file, O_RDWR | O_NOFOLLOW) : made
        guard descriptor >= 0 else { throw .refused(by: errno, "\(file) can't be opened") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            FileBytes.close(descriptor)
            guard reason == EWOULDBLOCK else { throw .refused(by: reason, "\(file) can't be locked") }
            throw inUse(path)
        }
        do throws(DataDirectoryError) {
            if descriptor == made { try FileBytes.give(descriptor, file, toOwnerOf: path) }
        } catch {
            FileBytes.close(descriptor)
            throw error
        }
        // Only errors name the process; a full disk may have no room for it.
        _ = ftruncate(descriptor, 0)
        try? FileBytes.write(Array("\(getpid())\n".utf8), to: descriptor, file)
        return descriptor
    }

    private static func inUse(_ path: String) -> DataDirectoryError {
        DataDirectoryError(
            // A command that works without a host holds the lock, too: stopping it could break off an import.
            "another host or command\(holder(of: path)) uses the data directory \(path); "
                + "wait until it has ended, stop it, or name another directory", isInUse: true)
    }

    /// The process that uses a directory, as a part of a sentence; empty if it isn't known.
    private static func holder(of path: String) -> String {
        let descriptor = FileBytes.open(path + "/lock", O_RDONLY | O_NOFOLLOW)
        guard descriptor >= 0 else { return "" }
        defer { FileBytes.close(descriptor) }
        let text = (try? FileBytes.read(descriptor)).map { String(decoding: $0, as: UTF8.self) } ?? ""
        let pid = text.prefix { $0.isNumber }
        return pid.isEmpty ? "" : ", process \(pid),"
    }

    /// Calls the body, which reads what is in a directory, while no host uses that: none can start meanwhile.
    ///
    /// - Throws: `DataDirectoryError` if a host uses it, or what the body throws.
    package static func whileUnused<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        let file = path + "/lock"
        let descriptor = FileBytes.open(file, O_RDONLY | O_NOFOLLOW)
        guard descriptor >= 0 else { throw DataDirectoryError.refused(by: errno, "\(file) can't be opened") }
        defer { FileBytes.close(descriptor) }
        guard flock(descriptor, LOCK_SH | LOCK_NB) == 0 else {
            guard errno == EWOULDBLOCK else { throw DataDirectoryError.refused(by: errno, "\(file) can't be locked") }
            throw DataDirectoryError(
                "a host\(holder(of: path)) uses the data directory \(path), and changes what is in it; "
                    + "stop it, or use a copy that \"data backup\" makes there", isInUse: true)
        }
        return try body()
    }
}
