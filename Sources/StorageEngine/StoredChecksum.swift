/// A checksum over stored bytes, which detects bytes that a disk has changed.
///
/// Each step is reversible, so that a change within eight bytes always changes the 64 bits that are folded at the end.
package enum StoredChecksum {
    private static let multiplier: UInt64 = 0x9E37_79B9_7F4A_7C15

    /// - Parameter name: what the bytes belong to; the same bytes under another name have another checksum.
    package static func of(_ bytes: UnsafeRawBufferPointer, name: String) -> UInt32 {
        var name = name
        var hash = name.withUTF8 { add(UnsafeRawBufferPointer($0), to: multiplier) }
        hash = add(bytes, to: hash)
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    /// - Parameter key: of the row that the bytes belong to; the same bytes under another key have another checksum.
    package static func of(_ bytes: UnsafeRawBufferPointer, key: UnsafeRawBufferPointer) -> UInt32 {
        let hash = add(bytes, to: add(key, to: multiplier))
        return UInt32(truncatingIfNeeded: hash ^ hash >> 32)
    }

    private static func add(_ bytes: UnsafeRawBufferPointer, to start: UInt64) -> UInt64 {
        var hash = mix(start, UInt64(bytes.count))
        var offset = 0
        while offset + 8 <= bytes.count {
            hash = mix(hash, UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt64.self)))
            offset += 8
        }
        var rest: UInt64 = 0
        while offset < bytes.count {
            rest = rest << 8 | UInt64(bytes[offset])
            offset += 1
        }
        return mix(hash, rest)
    }

    private static func mix(_ hash: UInt64, _ word: UInt64) -> UInt64 {
        let product = (hash ^ word) &* multiplier
        return product ^ product >> 29
    }
}
