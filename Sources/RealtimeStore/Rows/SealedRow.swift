import DocumentModel
import StorageEngine

/// Rows that end in four bytes of a checksum over their content and key.
enum SealedRow {
    private static func checksum(_ content: some Collection<UInt8>, _ key: some Collection<UInt8>) -> UInt32 {
        func sum(_ content: UnsafeRawBufferPointer, _ key: UnsafeRawBufferPointer) -> UInt32 {
            StoredChecksum.of(content, key: key)
        }
        let value =
            content.withContiguousStorageIfAvailable { content in
                key.withContiguousStorageIfAvailable { key in
                    sum(UnsafeRawBufferPointer(content), UnsafeRawBufferPointer(key))
                }
            } ?? nil
        return value ?? Array(content).withUnsafeBytes { content in Array(key).withUnsafeBytes { sum(content, $0) } }
    }

    static func seal(_ content: consuming [UInt8], at key: some Collection<UInt8>) -> [UInt8] {
        let checksum = checksum(content, key)
        for shift in stride(from: 24, through: 0, by: -8) {
            content.append(UInt8(truncatingIfNeeded: checksum >> UInt32(shift)))
        }
        return content
    }

    /// The content of a row.
    ///
    /// - Parameter what: names the row in the error, such as "a namespace".
    static func open(
        _ row: [UInt8], at key: some Collection<UInt8>, _ what: String
    ) throws(DecodingFailure) -> ArraySlice<UInt8> {
        let content = row.dropLast(4)
        let stored = row.suffix(4).reduce(0) { $0 << 8 | UInt32($1) }
        guard row.count > 4, checksum(content, key) == stored else {
            throw DecodingFailure("the checksum of \(what) is wrong")
        }
        return content
    }
}
