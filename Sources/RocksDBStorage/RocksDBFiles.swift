import Foundation
import StorageEngine

/// A store's directory, as far as it isn't RocksDB's affair.
enum RocksDBFiles {
    /// Checks a directory before it is opened. Costs the same for any size of store.
    ///
    /// - Throws: `StorageError` if it isn't a store, or has lost a file that RocksDB wouldn't miss.
    static func check(_ directory: String, as role: Role = .store) throws {
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: directory)
        } catch {
            throw StorageError(.unavailable, "\(role.name) \(directory) can't be read; check its permissions")
        }
        guard names.contains("CURRENT") else {
            throw StorageError(
                .damaged, "\(role.name) \(directory) is damaged: it has no file CURRENT. \(role.advice)")
        }
        // An open store has a log at each moment; RocksDB would begin a new one in place of one that is lost.
        guard names.contains(where: { $0.hasSuffix(".log") }) else {
            throw StorageError(.damaged, "\(role.name) \(directory) is damaged: its log is missing. \(role.advice)")
        }
    }

    /// Checks what a backup would replace: files, as those of other engines, and backups of this one.
    ///
    /// - Throws: `StorageError` for a directory with anything else in it, or one that can't be read.
    static func checkReplaceable(_ target: String) throws {
        guard StoreFile.isDirectory(target) else { return }
        let names: [String]
        do {
            names = try FileManager.default.contentsOfDirectory(atPath: target)
        } catch {
            throw StorageError(
                .unavailable, "\(target) can't be read, and so isn't replaced; check its owner and its permissions")
        }
        let isBackup = names.contains("CURRENT") && names.allSatisfy(isOfRocksDB)
        guard isBackup || names.isEmpty else {
            throw StorageError(
                .unavailable,
                "\(target) isn't a backup, and directories with anything else aren't replaced; name another one, or one within it"
            )
        }
    }

    private static func isOfRocksDB(_ name: String) -> Bool {
        let wholes = ["CURRENT", "IDENTITY", "LOCK", "LOG"]
        return wholes.contains(name) || ["LOG.old", "MANIFEST-", "OPTIONS-"].contains { name.hasPrefix($0) }
            || [".sst", ".blob", ".log", ".dbtmp"].contains { name.hasSuffix($0) }
    }

    /// The logs' names, from the oldest to the newest: numbers with leading zeros.
    static func logs(in directory: String) -> [String] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.filter { $0.hasSuffix(".log") }.sorted { ($0.count, $0) < ($1.count, $1) }
    }

    /// The file that tells which files the store has; nil if there is none.
    static func manifest(of directory: String) -> String? {
        guard let name = try? String(contentsOfFile: directory + "/CURRENT", encoding: .utf8) else { return nil }
        let path = directory + "/" + name.trimmingCharacters(in: .newlines)
        return StoreFile.exists(path) && !StoreFile.isDirectory(path) ? path : nil
    }

    /// What a name gets while RocksDB mustn't see it.
    static let hidden = ".ruined"

    /// Gives tables that a killed process had hidden their names again.
    static func unhide(in directory: String) {
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where name.hasSuffix(hidden)
        {
            rename(directory + "/" + name, directory + "/" + name.dropLast(hidden.count))
        }
    }

    /// The tables whose end isn't as it was written. A process that was killed may leave such ones, which belong to no state.
    ///
    /// - Throws: `StorageError` if one can't be opened.
    static func ruinedTables(in directory: String) throws(StorageError) -> [String] {
        var ruined: [String] = []
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] where name.hasSuffix(".sst")
        {
            guard try !RocksDBTable.hasWholeEnd(directory + "/" + name) else { continue }
            ruined.append(name)
        }
        return ruined
    }

    /// What a directory is for, which decides the advice in its errors.
    enum Role {
        case store, backup

        var name: String {
            switch self {
            case .store: "the store"
            case .backup: "the backup"
            }
        }

        var advice: String {
            switch self {
            case .store: "Restore it from a backup, or move it away to start with an empty store"
            case .backup: "Use another one"
            }
        }
    }

    /// The size of all files, in bytes.
    static func size(_ directory: String) -> Int {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
        return names.reduce(0) { $0 + (StoreFile.size(directory + "/" + $1) ?? 0) }
    }

    /// Makes a store readable for its owner alone, and if root runs, gives it to the owner of the directory that it is in.
    static func keepPrivate(_ directory: String) throws {
        // Fails only for another user's directory, whose permissions are theirs.
        chmod(directory, 0o700)
        guard geteuid() == 0 else { return }
        try StoreFile.giveToOwnerOfDirectory(directory)
        for name in (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? [] {
            // RocksDB may delete one meanwhile.
            try? StoreFile.giveToOwnerOfDirectory(directory + "/" + name)
        }
    }

    /// Waits until the files of a closed store are on the disk.
    static func sync(_ directory: String) throws {
        for name in try FileManager.default.contentsOfDirectory(atPath: directory) {
            try StoreFile.sync(directory + "/" + name)
        }
        try StoreFile.sync(directory)
    }

    /// Copies a directory's files and syncs them.
    ///
    /// - Parameter progress: called with the bytes so far.
    static func copy(_ directory: String, to target: String, progress: (WorkProgress) throws -> Void) throws {
        guard mkdir(target, 0o700) == 0 else { throw StoreFile.refusal("\(target) can't be written") }
        let names = try FileManager.default.contentsOfDirectory(atPath: directory).filter { !isOfProcess($0) }
        let total = names.reduce(0) { $0 + (StoreFile.size(directory + "/" + $1) ?? 0) }
        var done = 0
        for name in names.sorted() {
            try StoreFile.copy(directory + "/" + name, to: target + "/" + name) { bytes in
                done += bytes
                try progress(WorkProgress(done: done, total: total))
            }
        }
        try StoreFile.sync(target)
    }

    /// Whether a file belongs to the process that has the store open, and not to its data.
    private static func isOfProcess(_ name: String) -> Bool { name == "LOCK" || name.hasPrefix("LOG") }
}
