import Crypto

/// The functions of `hashing`.
enum Hashing {
    static func md5(_ bytes: [UInt8]) -> [UInt8] { Array(Insecure.MD5.hash(data: bytes)) }

    static func sha256(_ bytes: [UInt8]) -> [UInt8] { Array(SHA256.hash(data: bytes)) }

    /// The bytes of a CRC in the order of the official emulator: the lowest first.
    static func crc32(_ bytes: [UInt8]) -> [UInt8] { crc(bytes, crc32Table) }

    static func crc32c(_ bytes: [UInt8]) -> [UInt8] { crc(bytes, crc32cTable) }

    private static let crc32Table = table(0xEDB8_8320)
    private static let crc32cTable = table(0x82F6_3B78)

    private static func table(_ polynomial: UInt32) -> [UInt32] {
        (0..<256).map { index in
            (0..<8).reduce(UInt32(index)) { crc, _ in crc & 1 == 1 ? crc >> 1 ^ polynomial : crc >> 1 }
        }
    }

    private static func crc(_ bytes: [UInt8], _ table: [UInt32]) -> [UInt8] {
        let crc = ~bytes.reduce(~UInt32(0)) { crc, byte in table[Int((crc ^ UInt32(byte)) & 0xFF)] ^ crc >> 8 }
        return (0..<4).map { UInt8(truncatingIfNeeded: crc >> (8 * $0)) }
    }
}
