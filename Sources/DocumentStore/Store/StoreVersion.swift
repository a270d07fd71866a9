import StorageEngine
import DocumentModel

/// The version of a snapshot: the time of its last commit, in microseconds. Stored with each commit.
///
/// Its row names the generation of the catalog of indexes too, so that a reader sees at once whether the one it has
/// fits.
enum StoreVersion {
    private static let key = Array("version".utf8)

    static func read(_ storage: any StorageReader) throws -> Int64 { try readBoth(storage).version }

    /// - Returns: no generation for a store from before there was a catalog.
    static func readBoth(_ storage: any StorageReader) throws -> (version: Int64, generation: Int64?) {
        guard let bytes = try storage.get(.meta, key) else { return (0, nil) }
        var reader = ByteReader(bytes)
        let version = try reader.signed()
        let generation = reader.remaining > 0 ? try reader.signed() : nil
        try reader.finish()
        return (version, generation)
    }

    static func write(_ version: Int64, generation: Int64, to storage: any StorageWriter) throws {
        var writer = ByteWriter()
        writer.write(signed: version)
        writer.write(signed: generation)
        try storage.put(.meta, key, writer.bytes)
    }
}
