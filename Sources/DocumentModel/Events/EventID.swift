/// Names an event: the commit that caused it, and its place among the events of that commit.
///
/// Events have the order of their commits. As a text it has 25 characters, which sort as events do.
package struct EventID: Hashable, Comparable, Sendable, CustomStringConvertible {
    /// The commit's time in microseconds.
    package var version: Int64
    package var ordinal: UInt32

    package init(version: Int64, ordinal: UInt32) {
        self.version = version
        self.ordinal = ordinal
    }

    /// - Returns: nil for what is no event's name, letter by letter as ``description`` writes it.
    package init?(_ text: some StringProtocol) {
        let parts = text.split(separator: "-", omittingEmptySubsequences: false)
        guard parts.count == 2, let version = Int64(parts[0], radix: 16), version >= 0,
            let ordinal = UInt32(parts[1], radix: 16)
        else { return nil }
        self.init(version: version, ordinal: ordinal)
        guard description.utf8.elementsEqual(text.utf8) else { return nil }
    }

    package var description: String {
        Self.hexadecimal(UInt64(bitPattern: version), 16) + "-" + Self.hexadecimal(UInt64(ordinal), 8)
    }

    package static func < (a: EventID, b: EventID) -> Bool { (a.version, a.ordinal) < (b.version, b.ordinal) }

    private static func hexadecimal(_ number: UInt64, _ digits: Int) -> String {
        let text = String(number, radix: 16)
        return String(repeating: "0", count: max(0, digits - text.utf8.count)) + text
    }
}
