import StorageEngine
import DocumentModel

/// The format of rows about indexes: a format byte, the content, and a checksum over both, because a catalog that is
/// misread causes wrong query results.
enum StoredIndexes {
    private static let format: UInt8 = 1

    static func seal(_ content: (inout ByteWriter) -> Void) -> [UInt8] {
        var writer = ByteWriter()
        writer.write(byte: format)
        content(&writer)
        writer.write(fixed: checksum(writer.bytes[...]))
        return writer.bytes
    }

    /// - Throws: `StorageError` if these aren't the bytes that were written.
    static func open<Content>(
        _ bytes: [UInt8], _ what: String, _ content: (inout ByteReader) throws(DecodingFailure) -> Content
    ) throws(StorageError) -> Content {
        do throws(DecodingFailure) {
            guard bytes.count > 8 else { throw DecodingFailure("it has only \(bytes.count) bytes") }
            var sum = ByteReader(bytes.suffix(8))
            guard try sum.fixed() == checksum(bytes.dropLast(8)) else {
                throw DecodingFailure("its checksum doesn't fit")
            }
            var reader = ByteReader(bytes.dropLast(8))
            guard try reader.byte() == format else { throw DecodingFailure("its format is unknown") }
            let result = try content(&reader)
            try reader.finish()
            return result
        } catch {
            throw damaged("\(what) is damaged: \(error.reason)")
        }
    }

    static func damaged(_ what: String) -> StorageError {
        StorageError(
            .damaged,
            "\(what). The documents are intact: \"functions-host data check --repair\" rebuilds the indexes")
    }

    /// FNV-1a.
    private static func checksum(_ bytes: ArraySlice<UInt8>) -> UInt64 {
        bytes.reduce(0xCBF2_9CE4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 }
    }
}
