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

/// The directory that holds everything durable, for as long as this host owns it.
///
/// One host at a time: the file `lock` in it is locked, and the kernel gives the lock back however the process ends.
/// The file `version` tells the format. Nobody but the owner may enter the directory.
package final class DataDirectory: Sendable {
    /// Absolute or relative as it was given.
    package let path: String
    private let isEphemeral: Bool
    /// The locked descriptor; nil once closed.
    private let lock: Mutex<Int32?>

    /// A step from one format to the next, named and never changed once released.
    package struct Migration: Sendable {
        package var name: String
        /// Does its work in the directory of this path. It may run again after a crash, so it must bear that.
        package var run: @Sendable (String) throws -> Void

        package init(_ name: String, run: @escaping @Sendable (String) throws -> Void) {
            self.name = name
            self.run = run
        }
    }

    /// The first leads from format 1 to 2. The format this host writes is one more than there are steps.
    package static let migrations: [Migration] = []

    private init(path: String, isEphemeral: Bool, lock: Int32) {
        self.path = path
        self.isEphemeral = isEphemeral
        self.lock = Mutex(lock)
    }

    deinit { close() }

    /// Takes the directory, made where it is missing.
    ///
    /// - Throws: a sentence for the operator where another host has it, a newer host wrote it, or the file system
    ///   refuses. Nothing in it was changed then, and migrations that ran stay.
    package static func open(_ path: String, migrations: [Migration] = migrations) throws(DataDirectoryError)
        -> DataDirectory
    {
        try makeDirectory(path)
        let directory = DataDirectory(path: path, isEphemeral: false, lock: try takeLock(path))
        try DataVersion(directory: path).bring(to: migrations)
        return directory
    }

    /// A new directory under `TMPDIR` that goes when it is closed.
    ///
    /// - Throws: a sentence where the file system refuses.
    package static func ephemeral() throws(DataDirectoryError) -> DataDirectory {
        let base = getenv("TMPDIR").map { String(cString: $0) } ?? "/tmp"
        var template = Array((base + "/functions-XXXXXX").utf8CString)
        guard mkdtemp(&template) != nil else {
            throw .refused(by: errno, "a temporary data directory in \(base) can't be made")
        }
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        let directory = DataDirectory(path: path, isEphemeral: true, lock: try takeLock(path))
        try DataVersion(directory: path).bring(to: migrations)
        return directory
    }

    /// Where a file or directory of this name stands.
    package func file(_ name: String) -> String { path + "/" + name }

    /// Gives the directory back; an ephemeral one is removed with all it holds. Closing twice is harmless.
    package func close() {
        let descriptor = lock.withLock { descriptor in
            defer { descriptor = nil }
            return descriptor
        }
        guard let descriptor else { return }
        // Removed while still locked, so that nobody takes it half gone.
        // What can't be removed stays in the temporary directory for the system to clean.
        if isEphemeral { try? FileManager.default.removeItem(atPath: path) }
        FileBytes.close(descriptor)
    }

    private static func makeDirectory(_ path: String) throws(DataDirectoryError) {
        var made = path.hasPrefix("/") ? "" : "."
        for part in path.split(separator: "/") {
            made += "/" + part
            guard mkdir(made, 0o700) != 0, errno != EEXIST else { continue }
            // A directory above may forbid writing and exist all the same; what counts is the last.
            let reason = errno
            guard FileStatus(made) != nil else {
                throw .refused(by: reason, "the data directory \(path) can't be made")
            }
        }
        guard let status = FileStatus(path) else {
            throw .refused(by: errno, "the data directory \(path) can't be opened")
        }
        guard status.isDirectory else {
            throw DataDirectoryError("\(path) is a file; name a directory for the data")
        }
        guard status.owner == geteuid() || geteuid() == 0 else {
            throw DataDirectoryError(
                "the data directory \(path) belongs to user \(status.owner), and this host runs as \(geteuid())")
        }
        // Before anything of it is changed.
        try DataVersion(directory: path).refuseForeignFiles()
        if status.isOpenToOthers, chmod(path, 0o700) != 0 {
            throw .refused(by: errno, "the data directory \(path) can't be closed to other users")
        }
    }

    private static func takeLock(_ path: String) throws(DataDirectoryError) -> Int32 {
        let file = path + "/lock"
        // Not inherited: a worker that outlives its host must not keep the directory.
        let descriptor = FileBytes.open(file, O_RDWR | O_CREAT | O_NOFOLLOW)
        guard descriptor >= 0 else { throw .refused(by: errno, "\(file) can't be opened") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            let reason = errno
            let holder = (try? FileBytes.read(descriptor)).map { String(decoding: $0, as: UTF8.self) } ?? ""
            FileBytes.close(descriptor)
            guard reason == EWOULDBLOCK else { throw .refused(by: reason, "\(file) can't be locked") }
            let pid = holder.prefix { $0.isNumber }
            throw DataDirectoryError(
                "another host\(pid.isEmpty ? "" : ", process \(pid),") has the data directory \(path); "
                    + "stop it or name another directory")
        }
        do throws(DataDirectoryError) {
            guard ftruncate(descriptor, 0) == 0 else { throw .refused(by: errno, "\(file) can't be written") }
            try FileBytes.write(Array("\(getpid())\n".utf8), to: descriptor, file)
        } catch {
            FileBytes.close(descriptor)
            throw error
        }
        return descriptor
    }
}
