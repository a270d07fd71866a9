import TextFormats

/// Identifies an event by the commit that caused it and its position within that commit.
///
/// Events sort in the order of their commits. The string form has 25 characters and sorts the same way.
package struct EventID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The commit time in microseconds.
    package var version: Int64
    package var ordinal: UInt32

    package init(version: Int64, ordinal: UInt32) {
        self.version = version
        self.ordinal = ordinal
    }

    /// - Returns: Nil if this isn't an event id exactly as ``description`` formats it.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let version = Int64(parts[0], radix: 16), version >= 0,
            let ordinal = UInt32(parts[1], radix: 16)
        else { return nil }
        self.init(version: version, ordinal: ordinal)
        guard description.utf8.elementsEqual(text.utf8) else { return nil }
    }

    package var description: String {
        Hexadecimal.encode(UInt64(bitPattern: version)) + "-" + Hexadecimal.encode(ordinal)
    }

    package static func < (a: EventID, b: EventID) -> Bool { (a.version, a.ordinal) < (b.version, b.ordinal) }
}
