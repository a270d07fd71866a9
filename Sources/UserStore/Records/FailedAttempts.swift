import DocumentModel

/// The failed attempts to sign in to one account, or from one address.
package struct FailedAttempts: Hashable, Sendable {
    package var count: Int
    /// Seconds since 1970.
    package var lastAt: Int64

    package init(count: Int, lastAt: Int64) {
        self.count = count
        self.lastAt = lastAt
    }

    /// Attempts are forgotten this many seconds after the last one.
    package static let keptFor: Int64 = 24 * 3600

    /// What still counts at a time: half of it after each hour without another. An address that many people share isn't
    /// held up by what they mistype in weeks.
    package func faded(at seconds: Int64) -> FailedAttempts {
        let hours = max(0, seconds - lastAt) / 3600
        return FailedAttempts(count: hours > 60 ? 0 : count >> hours, lastAt: lastAt)
    }

    init(stored bytes: [UInt8]) throws(DecodingFailure) {
        var reader = ByteReader(bytes)
        count = Int(clamping: try reader.varint())
        lastAt = try reader.signed()
        try reader.finish()
    }

    var stored: [UInt8] {
        var writer = ByteWriter(reservingCapacity: 16)
        writer.write(count: count)
        writer.write(signed: lastAt)
        return writer.bytes
    }
}
