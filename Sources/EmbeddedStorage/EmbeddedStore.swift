import Foundation
import SQLiteStorage
package import StorageEngine

#if RocksDB
    import RocksDBStorage
#endif

/// The store of a data directory, whichever engine keeps it.
package struct EmbeddedStore: Sendable {
    /// Of a new store, if the configuration names none.
    package static let defaultEngine = EmbeddedEngineKind.sqlite

    let directory: String
    /// The engine that the configuration names; nil for the one that is there.
    let wanted: EmbeddedEngineKind?

    package init(in directory: String, engine: EmbeddedEngineKind? = nil) {
        self.directory = directory
        wanted = engine
    }

    /// Opens the store, or creates it. The data directory must be owned by this process.
    ///
    /// - Throws: `StorageError` if it is kept by another engine than the configuration names, is damaged, was written by a
    ///   newer version or can't be used.
    package func open() throws -> any EmbeddedEngine {
        _ = try finishReplacement()
        // What a killed process was about to make takes as much room as the store.
        for kind in EmbeddedEngineKind.allCases {
            for suffix in [".restoring", ".migrating"] { removeDraft(path(kind) + suffix) }
        }
        let kind = try present() ?? wanted ?? Self.defaultEngine
        if let wanted, wanted != kind {
            throw StorageError(
                .unavailable,
                "the data in \(directory) is kept by \(kind.rawValue) and the configuration wants \(wanted.rawValue); "
                    + "move it with functions-host data migrate, or change store.engine")
        }
        return try Self.open(kind, at: path(kind))
    }

    /// Whether a path is one of the store's files, or within it.
    package func isPart(_ path: String) -> Bool {
        EmbeddedEngineKind.allCases.contains { StoreFile.isPart(path, of: self.path($0)) }
    }

    /// Replaces the store by a backup. Until that is decided, the old store is untouched.
    ///
    /// - Returns: the path that the replaced store was moved to; nil if there was none.
    /// - Throws: `StorageError` if the backup can't be used, or what `progress` throws.
    package func restore(_ backup: String, progress: (WorkProgress) throws -> Void) throws -> String? {
        _ = try finishReplacement()
        let kind: EmbeddedEngineKind = StoreFile.isDirectory(backup) ? .rocksdb : .sqlite
        if let wanted, wanted != kind {
            throw StorageError(
                .unavailable,
                "the backup \(backup) is one of \(kind.rawValue) and the configuration wants \(wanted.rawValue); "
                    + "restore it without store.engine, then move the data with functions-host data migrate")
        }
        switch kind {
        case .sqlite: try SQLiteRestore.prepare(backup, for: path(kind), progress: progress)
        case .rocksdb:
            #if RocksDB
                try RocksDBRestore.prepare(backup, for: path(kind), progress: progress)
            #else
                throw Self.isMissing
            #endif
        }
        return try finishReplacement()
    }

    package func path(_ kind: EmbeddedEngineKind) -> String { directory + "/documents." + kind.rawValue }

    /// The engine that keeps what is there; nil if there is nothing.
    func present() throws -> EmbeddedEngineKind? {
        let kinds = EmbeddedEngineKind.allCases.filter { StoreFile.exists(path($0)) }
        guard kinds.count < 2 else {
            let names = kinds.map { path($0) }.joined(separator: " and ")
            throw StorageError(.damaged, "\(names) are both there; move the one away that isn't used")
        }
        return kinds.first
    }

    /// Opens a store of a kind, or creates it.
    package static func open(_ kind: EmbeddedEngineKind, at path: String) throws -> any EmbeddedEngine {
        switch kind {
        case .sqlite: return try SQLiteEngine(file: path)
        case .rocksdb:
            #if RocksDB
                return try RocksDBEngine(directory: path)
            #else
                throw Self.isMissing
            #endif
        }
    }

    func removeDraft(_ draft: String) {
        let companions = EmbeddedEngineKind.allCases.flatMap(\.companions)
        for suffix in ["", ".unfinished", ".checkpoint", ".checkpoint.tmp"] + companions {
            StoreFile.removeAll(draft + suffix)
        }
    }

    /// Lets a closed store take the place of what is there.
    func decide(_ draft: String, _ kind: EmbeddedEngineKind) throws {
        switch kind {
        case .sqlite: try SQLiteRestore.decide(draft, for: path(kind))
        case .rocksdb:
            #if RocksDB
                try RocksDBRestore.decide(draft, for: path(kind))
            #else
                throw Self.isMissing
            #endif
        }
    }

    /// Puts a store in place that was decided to replace the present one, if there is one, and moves the present one aside
    /// with all its files. An interruption at any step is made good by the next call.
    ///
    /// - Returns: the path that the replaced store was moved to; nil if there was none.
    /// - Throws: `StorageError` also if the present one is a link to something that isn't there: without its disk, the host
    ///   would begin an empty store and take commits, and a replacement would take the link's place.
    func finishReplacement() throws -> String? {
        if let link = EmbeddedEngineKind.allCases.map({ path($0) }).first(where: StoreFile.isBrokenLink) {
            throw StorageError(
                .unavailable,
                "\(link) is a link to something that isn't there; mount the disk of the data, or remove the link to "
                    + "start with an empty store")
        }
        for kind in EmbeddedEngineKind.allCases {
            let replacement = StoreFile.restored(path(kind))
            guard StoreFile.exists(replacement) else { continue }
            let aside = EmbeddedEngineKind.allCases.map { old in
                (from: path(old), to: StoreFile.aside(path(old), for: replacement), suffixes: [""] + old.companions)
            }
            for (from, to, suffixes) in aside {
                for suffix in suffixes where StoreFile.exists(from + suffix) {
                    try StoreFile.move(from + suffix, to: to + suffix)
                }
            }
            try StoreFile.move(replacement, to: path(kind))
            try StoreFile.syncDirectory(of: path(kind))
            return aside.map(\.to).first(where: StoreFile.exists)
        }
        return nil
    }

    private static var isMissing: StorageError {
        StorageError(.unavailable, "this program was built without RocksDB; use one that was built with it")
    }
}
