import DocumentModel
package import StorageEngine

/// The version of a snapshot: the time of its last commit, in microseconds. Stored with each commit.
///
/// Its row also names the generation of the data that readers cache of one kind of data (``DataKind/generation``).
package enum StoreVersion {
    private static let key = Array("version".utf8)

    package static func read(_ storage: any StorageReader) throws -> Int64 { try readBoth(storage).version }

    /// - Returns: no generation if the store was written by a version of the program without generations.
    package static func readBoth(_ storage: any StorageReader) throws -> (version: Int64, generation: Int64?) {
        guard let bytes = try storage.get(.meta, key) else { return (0, nil) }
        var reader = ByteReader(bytes)
        let version = try reader.signed()
        let generation = reader.remaining > 0 ? try reader.signed() : nil
        try reader.finish()
        return (version, generation)
    }

    package static func write(_ version: Int64, generation: Int64?, to storage: any StorageWriter) throws {
        var writer = ByteWriter()
        writer.write(signed: version)
        if let generation { writer.write(signed: generation) }
        try storage.put(.meta, key, writer.bytes)
    }

    /// Begins the history of a new store, or a new history after a restore: positions in the discarded history must not
    /// be valid in the new one.
    ///
    /// - Returns: the store's first version.
    static func open(_ storage: any StorageWriter, at now: Timestamp) throws -> Int64 {
        var (version, generation) = try readBoth(storage)
        let isRestored = try storage.get(.meta, RestoredMark.key) != nil
        if version == 0 { generation = generation ?? 0 }
        if version == 0 || isRestored {
            version = max(version, now.microseconds)
            try write(version, generation: generation, to: storage)
        }
        if try isRestored || HistoryBounds.read(storage) == nil {
            try HistoryBounds(floor: version, bytes: 0).write(to: storage)
            try storage.delete(.meta, RestoredMark.key)
        }
        return version
    }
}
