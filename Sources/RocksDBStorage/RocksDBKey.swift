import StorageEngine

/// Keys of all tables are in one order: each begins with its table's number.
enum RocksDBKey {
    /// Of the engine's own rows, after all tables.
    static let own: UInt8 = 0xFF

    /// Calls the body with a key's bytes, which aren't copied to the heap.
    static func with<Result>(
        _ table: StorageTable, _ key: [UInt8], _ body: (UnsafePointer<CChar>?, Int) throws -> Result
    ) rethrows -> Result {
        try key.withUnsafeBytes { try with(UInt8(table.rawValue), $0, body) }
    }

    static func with<Result>(
        _ prefix: UInt8, _ key: UnsafeRawBufferPointer, _ body: (UnsafePointer<CChar>?, Int) throws -> Result
    ) rethrows -> Result {
        try withUnsafeTemporaryAllocation(byteCount: key.count + 1, alignment: 1) { buffer in
            buffer[0] = prefix
            UnsafeMutableRawBufferPointer(rebasing: buffer[1...]).copyMemory(from: key)
            return try body(
                buffer.assumingMemoryBound(to: CChar.self).baseAddress.map { UnsafePointer($0) }, buffer.count)
        }
    }

    /// The first key after a range.
    static func end(of range: KeyRange, in table: StorageTable) -> [UInt8] {
        guard let upper = range.upper else { return [UInt8(table.rawValue) + 1] }
        return [UInt8(table.rawValue)] + upper
    }
}
