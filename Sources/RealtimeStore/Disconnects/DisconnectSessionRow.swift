import DocumentModel

/// What is kept of a session with registrations beside them.
struct DisconnectSessionRow: Hashable, Sendable {
    /// That of the next registration.
    var nextOrder: UInt64 = 0
    var count = 0
    /// Of all its registrations' rows.
    var bytes = 0

    init() {}

    init(stored row: [UInt8], at key: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(try SealedRow.open(row, at: key, "a session with an onDisconnect"))
        nextOrder = UInt64(bitPattern: try reader.signed())
        count = Int(try reader.signed())
        bytes = Int(try reader.signed())
        try reader.finish()
    }

    func stored(at key: [UInt8]) -> [UInt8] {
        var writer = ByteWriter(reservingCapacity: 16)
        writer.write(signed: Int64(bitPattern: nextOrder))
        writer.write(signed: Int64(count))
        writer.write(signed: Int64(bytes))
        return SealedRow.seal(writer.bytes, at: key)
    }
}
