/// The checksum of RocksDB's logs and files of large values: CRC-32C, turned.
enum RocksDBChecksum {
    private static let table: [UInt32] = (0..<256).map { index in
        var sum = UInt32(index)
        for _ in 0..<8 { sum = sum & 1 == 1 ? (sum >> 1) ^ 0x82F6_3B78 : sum >> 1 }
        return sum
    }

    /// - Parameter stored: as it is in a file.
    static func matches(_ stored: UInt32, _ bytes: Slice<UnsafeRawBufferPointer>) -> Bool {
        let sum = table.withUnsafeBufferPointer { table in
            var sum: UInt32 = ~0
            for byte in UnsafeRawBufferPointer(rebasing: bytes) {
                sum = table[Int(UInt8(truncatingIfNeeded: sum) ^ byte)] ^ (sum >> 8)
            }
            return ~sum
        }
        // RocksDB changes sums before it stores them.
        let turned: UInt32 = sum >> 15 | sum << 17
        return stored == turned &+ 0xA282_EAD8
    }
}
