import CFunctionsSystem
import Foundation

/// Operations on files that are put in place completely or not at all.
package enum StoreFile {
    package static func exists(_ path: String) -> Bool { FileManager.default.fileExists(atPath: path) }

    /// Whether a path is a symbolic link.
    private static func isLink(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
    }

    /// Whether a path is a symbolic link to something that isn't there, as on a disk that isn't mounted.
    package static func isBrokenLink(_ path: String) -> Bool { isLink(path) && !exists(path) }

    /// A path, or where it leads to if it is a symbolic link to something that is there.
    package static func target(of path: String) -> String {
        guard isLink(path), let real = realpath(path, nil) else { return path }
        defer { free(real) }
        return String(cString: real)
    }

    package static func isDirectory(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFDIR
    }

    /// Whether a path leads to a device, a pipe or a socket.
    package static func isSpecial(_ path: String) -> Bool {
        var status = stat()
        guard stat(path, &status) == 0 else { return false }
        return ![S_IFREG, S_IFDIR].contains(status.st_mode & S_IFMT)
    }

    /// Nil if there is no such file.
    package static func size(_ path: String) -> Int? {
        var status = stat()
        return stat(path, &status) == 0 ? Int(status.st_size) : nil
    }

    /// The room that a disk has left for this user, in bytes; nil if that can't be found out.
    package static func freeBytes(_ path: String) -> Int? {
        var status = statvfs()
        return statvfs(path, &status) == 0 ? Int(status.f_bavail) * Int(status.f_frsize) : nil
    }

    /// Creates an empty file, readable by its owner alone, and replaces one that exists.
    ///
    /// - Throws: `StorageError` with the system's reason.
    package static func makeEmpty(_ path: String) throws { close(try openEmpty(path)) }

    /// The same, but leaves it open for writing, because another file may have the name by the time it is opened.
    ///
    /// - Returns: the descriptor, which is the caller's.
    /// - Throws: `StorageError` with the system's reason.
    private static func openEmpty(_ path: String) throws -> CInt {
        let descriptor = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOFOLLOW, 0o600)
        guard descriptor >= 0 else { throw refusal("\(path) can't be written") }
        return descriptor
    }

    /// Opens an empty file for writing, which gets another name once it is complete. Until the descriptor is closed, or the
    /// process ends, no other one can open it so; what a killed process has left is used again.
    ///
    /// - Returns: the descriptor, which is the caller's.
    /// - Throws: `StorageError` if another process writes the file, or with the system's reason.
    package static func openDraft(_ path: String) throws -> CInt {
        while true {
            let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
            guard descriptor >= 0 else { throw refusal("\(path) can't be written") }
            var isKept = false
            defer { if !isKept { close(descriptor) } }
            guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
                guard errno == EWOULDBLOCK else { throw refusal("\(path) can't be locked") }
                throw StorageError(.unavailable, "another command writes \(path); wait until it has ended")
            }
            // Another process may have completed its file, and moved it, since this one opened it.
            var (opened, named) = (stat(), stat())
            guard fstat(descriptor, &opened) == 0, stat(path, &named) == 0, opened.st_ino == named.st_ino,
                opened.st_dev == named.st_dev
            else { continue }
            guard ftruncate(descriptor, 0) == 0 else { throw refusal("\(path) can't be written") }
            isKept = true
            return descriptor
        }
    }

    /// Whether a path is a store's file or directory, one of its companions, or inside of it: writing there would destroy
    /// the store.
    ///
    /// Directories are compared by identity, whatever path names them.
    package static func isPart(_ path: String, of store: String) -> Bool {
        func identity(_ url: URL) -> (dev_t, ino_t)? {
            var status = stat()
            return stat(url.path, &status) == 0 ? (status.st_dev, status.st_ino) : nil
        }
        func isSame(_ url: URL, _ other: (dev_t, ino_t)?) -> Bool {
            guard let other, let own = identity(url) else { return false }
            return own == other
        }
        let store = URL(fileURLWithPath: store)
        let (itself, directory) = (identity(store), identity(store.deletingLastPathComponent()))
        let name = store.lastPathComponent
        let places = places(of: path).map { URL(fileURLWithPath: $0) }
        if places.contains(where: { isSame($0, itself) }) { return true }
        return zip(places, places.dropFirst()).contains { place, parent in
            let own = place.lastPathComponent
            return (own == name || own.hasPrefix(name + "-") || own.hasPrefix(name + ".")) && isSame(parent, directory)
        }
    }

    /// A path and the directories that it is in, up to the root, without links or dots in their names. The file itself need not
    /// exist.
    package static func places(of path: String) -> [String] {
        func resolved(_ url: URL) -> URL? {
            guard let real = realpath(url.path, nil) else { return nil }
            defer { free(real) }
            return URL(fileURLWithPath: String(cString: real))
        }
        let url = URL(fileURLWithPath: path)
        let name = url.lastPathComponent
        let directory = resolved(url.deletingLastPathComponent())
        let isOfDots = name == "." || name == ".."
        var place = (isOfDots ? resolved(url) : directory?.appendingPathComponent(name)) ?? url.standardizedFileURL
        var places = [place.path]
        // A relative path that can't be resolved has no root.
        while place.path.hasPrefix("/"), place.path != "/" {
            let parent = place.deletingLastPathComponent()
            guard parent.path != place.path else { break }
            place = parent
            places.append(place.path)
        }
        return places
    }

    /// Gives a file that root made to the owner of its directory, so that the host's user can go on with it.
    package static func giveToOwnerOfDirectory(_ path: String) throws {
        let directory = URL(fileURLWithPath: path).deletingLastPathComponent().path
        guard functions_give_path_to_owner(path, directory) == 0 else {
            throw refusal("\(path) can't be given to the owner of \(directory)")
        }
    }

    /// Removes a file, or a directory with all in it; it need not exist.
    package static func removeAll(_ path: String) { try? FileManager.default.removeItem(atPath: path) }

    package static func move(_ path: String, to target: String) throws {
        guard rename(path, target) == 0 else { throw refusal("\(target) can't be put in place") }
    }

    /// Lets a complete store, a file or directory, take another one's place when that is opened next.
    ///
    /// - Parameter sync: writes the change of names to disk.
    /// - Throws: `StorageError`; the store has its own name again then, unless the error says so.
    package static func decide(
        _ draft: String, for store: String,
        sync: (_ store: String) throws -> Void = { try StoreFile.syncDirectory(of: $0) }
    ) throws {
        try move(draft, to: restored(store))
        do {
            try sync(store)
        } catch {
            guard rename(restored(store), draft) == 0 else {
                throw StorageError(
                    .unavailable,
                    "\(error); \(restored(store)) will be put in place when the host starts next, unless you remove it")
            }
            throw error
        }
    }

    /// Puts a file or directory in place of another one, which gets its name.
    package static func exchange(_ path: String, with target: String) throws {
        if functions_exchange(path, target) == 0 { return }
        // Not each file system can do both at once.
        try move(target, to: between(target))
        do {
            try move(path, to: target)
        } catch {
            try move(between(target), to: target)
            throw error
        }
        try move(between(target), to: path)
    }

    /// Undoes an exchange that a killed process has begun, or removes what it has left.
    package static func undoExchange(of target: String) throws {
        guard exists(between(target)) else { return }
        if exists(target) { return removeAll(between(target)) }
        try move(between(target), to: target)
    }

    private static func between(_ target: String) -> String { target + ".unfinished.replaced" }

    /// Gives a file or directory its name if nothing else has it.
    package static func moveWhereFree(_ path: String, to target: String) throws {
        if isDirectory(path) {
            // Never replaces anything but an empty directory.
            guard !exists(target) else { throw isThere(target) }
            return try move(path, to: target)
        }
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
    package static func copy(_ path: String, to target: String, progress: (Int) throws -> Void) throws {
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

    /// A complete store that takes another one's place as soon as that is opened: the replacement is decided then.
    package static func restored(_ store: String) -> String { store + ".restored" }

    /// Where a store is moved to when another one takes its place: the same in each attempt.
    ///
    /// - Parameter replacement: the complete new store, which waits to be moved.
    package static func aside(_ store: String, for replacement: String) -> String {
        let attributes = try? FileManager.default.attributesOfItem(atPath: replacement)
        let date = attributes?[.modificationDate] as? Date ?? Date(timeIntervalSince1970: 0)
        let style = Date.ISO8601FormatStyle(
            dateSeparator: .omitted, timeSeparator: .omitted, includingFractionalSeconds: true)
        return store + ".before-" + date.formatted(style)
    }

    package static func isThere(_ path: String) -> StorageError {
        StorageError(.unavailable, "\(path) is there already; name another file, or say that it may be replaced")
    }

    /// An error of a system call that has just failed.
    package static func refusal(_ what: String) -> StorageError {
        let reason = errno == ENOSPC ? "the disk is full" : String(cString: strerror(errno))
        return StorageError(.unavailable, "\(what): \(reason)")
    }
}
