import DocumentModel
package import StorageEngine

/// The version of a snapshot: the time of its last commit, in microseconds. Stored with each commit.
///
/// Its row also names the generations of the data that readers cache.
package enum StoreVersion {
    private static let key = Array("version".utf8)

    package static func read(_ storage: any StorageReader) throws -> Int64 { try readRow(storage).version }

    package static func readRow(
        _ storage: any StorageReader
    ) throws -> (version: Int64, generations: KindGenerations) {
        guard let bytes = try storage.get(.meta, key) else { return (0, KindGenerations()) }
        var reader = ByteReader(bytes)
        let version = try reader.signed()
        let generations = try KindGenerations(from: &reader)
        try reader.finish()
        guard isCommitTime(version) else {
            throw DecodingFailure("the store's version \(version) is not the time of a commit")
        }
        return (version, generations)
    }

    /// Whether a version, in microseconds, is the time that a commit can have.
    static func isCommitTime(_ version: Int64) -> Bool {
        version >= 0 && Timestamp(microseconds: version).isInRange
    }

    package static func write(
        _ version: Int64, _ generations: KindGenerations, to storage: any StorageWriter
    ) throws {
        var writer = ByteWriter()
        writer.write(signed: version)
        generations.write(to: &writer)
        try storage.put(.meta, key, writer.bytes)
    }

    /// Begins the history of a new store, or a new history after a restore: positions in the discarded history must not
    /// be valid in the new one.
    ///
    /// - Returns: the store's first version.
    static func open(_ storage: any StorageWriter, at now: Timestamp) throws -> Int64 {
        var (version, generations) = try readRow(storage)
        let isRestored = try storage.get(.meta, RestoredMark.key) != nil
        // A new store isn't one from before there were generations. A store that lost its version may have them.
        if version == 0 { generations.first = generations.first ?? 0 }
        if version == 0 || isRestored {
            version = max(version, now.microseconds)
            try write(version, generations, to: storage)
        }
        if try isRestored || HistoryBounds.read(storage) == nil {
            try HistoryBounds(floor: version, bytes: 0).write(to: storage)
            try storage.delete(.meta, RestoredMark.key)
        }
        return version
    }
}
