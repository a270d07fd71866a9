import DocumentModel

/// The version of a snapshot: the time of its last commit, in microseconds. Stored with each commit.
enum StoreVersion {
    private static let key = Array("version".utf8)

    static func read(_ storage: any StorageReader) throws -> Int64 {
        guard let bytes = try storage.get(.meta, key) else { return 0 }
        var reader = ByteReader(bytes)
        let version = try reader.signed()
        try reader.finish()
        return version
    }

    static func write(_ version: Int64, to storage: any StorageWriter) throws {
        var writer = ByteWriter()
        writer.write(signed: version)
        try storage.put(.meta, key, writer.bytes)
    }
}
