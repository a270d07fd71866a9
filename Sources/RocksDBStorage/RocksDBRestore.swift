import Foundation
package import StorageEngine

/// Prepares a backup to take a store's place: copies it beside the store and checks it there.
package enum RocksDBRestore {
    /// The changes that are removed from a copy at once.
    private static let removedChanges = 10_000

    /// Makes a checked copy of a backup that takes the store's place when this is opened next.
    package static func prepare(
        _ backup: String, for directory: String, progress: (WorkProgress) throws -> Void
    ) throws {
        let draft = directory + ".restoring"
        StoreFile.removeAll(draft)
        do {
            guard StoreFile.exists(backup) else {
                throw StorageError(.unavailable, "there is no backup \(backup) to restore")
            }
            try RocksDBFiles.check(backup, as: .backup)
            try RocksDBFiles.copy(backup, to: draft, progress: progress)
            try adopt(draft, backup: backup)
            try decide(draft, for: directory)
        } catch {
            StoreFile.removeAll(draft)
            throw error
        }
    }

    /// Lets a closed store take another one's place when that is opened next.
    package static func decide(_ draft: String, for directory: String) throws {
        try RocksDBFiles.keepPrivate(draft)
        try RocksDBFiles.sync(draft)
        try StoreFile.decide(draft, for: directory)
    }

    /// Checks a copy, and ends the backup's history: in the replaced store other commits followed it than will follow it
    /// now.
    private static func adopt(_ draft: String, backup: String) throws {
        let engine: RocksDBEngine
        do {
            engine = try RocksDBEngine(existing: draft, as: .backup)
        } catch let error as StorageError where error.kind == .damaged {
            throw StorageError(.damaged, "the backup \(backup) is damaged (\(error.message)); use another one")
        }
        defer { try? engine.close() }
        try engine.findDamage { finding in
            throw StorageError(.damaged, "the backup \(backup) is damaged: \(finding); use another one")
        }
        var next: [UInt8]? = []
        while let lower = next {
            let rest = KeyRange(lower: lower, upper: nil)
            next = try engine.write { try $0.removeRange(.changes, rest, atMost: removedChanges) }
        }
        try engine.write { try $0.put(.meta, RestoredMark.key, [1]) }
    }
}
