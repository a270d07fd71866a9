import StorageEngine
import DocumentModel

/// The format of an event's row: a checksum over the rest, the functions that the event is delivered to, and the event
/// as they receive it.
enum StoredEvent {
    private static let sumBytes = 4

    static func encode(_ event: [UInt8], for functions: [String]) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: event.count + 64)
        writer.write(functions) { $0.write($1) }
        let names = writer.bytes
        var row: [UInt8] = []
        row.reserveCapacity(Self.sumBytes + names.count + event.count)
        row.append(contentsOf: [UInt8](repeating: 0, count: Self.sumBytes))
        row.append(contentsOf: names)
        row.append(contentsOf: event)
        let sum = sum(of: row)
        for index in 0..<Self.sumBytes { row[index] = UInt8(truncatingIfNeeded: sum >> (24 - 8 * index)) }
        return row
    }

    /// - Throws: `DecodingFailure` if the row is damaged.
    static func decode(_ row: [UInt8]) throws(DecodingFailure) -> (functions: [String], event: [UInt8]) {
        guard row.count >= Self.sumBytes,
            row.prefix(Self.sumBytes).reduce(UInt32(0), { $0 << 8 | UInt32($1) }) == sum(of: row)
        else { throw DecodingFailure("an event's checksum is another") }
        var reader = ByteReader(row[Self.sumBytes...])
        let functions = try reader.list { reader throws(DecodingFailure) in try reader.string() }
        return (functions, Array(row.suffix(reader.remaining)))
    }

    private static func sum(of row: [UInt8]) -> UInt32 {
        row.withUnsafeBytes { StoredChecksum.of(UnsafeRawBufferPointer(rebasing: $0[Self.sumBytes...]), name: "event") }
    }
}
