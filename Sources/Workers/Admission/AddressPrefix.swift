package import WorkerProtocol

/// The addresses that begin with the same bits: `10.0.0.0/8`, or a single address.
package struct AddressPrefix: Hashable, Sendable {
    private let address: IPAddress
    private let mask: IPAddress

    /// - Returns: nil if the text isn't an address, or its prefix is longer than the address.
    package init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1, omittingEmptySubsequences: false)
        guard let first = parts.first, let address = IPAddress(first) else { return nil }
        let width = address.isV4 ? 32 : 128
        var bits = width
        if parts.count == 2 {
            guard let given = Int(parts[1]), (0...width).contains(given) else { return nil }
            bits = given
        }
        let ones = bits + (128 - width)
        mask = IPAddress(high: Self.ones(ones), low: Self.ones(ones - 64))
        self.address = Self.masked(address, mask)
    }

    package func contains(_ other: IPAddress) -> Bool { Self.masked(other, mask) == address }

    private static func masked(_ address: IPAddress, _ mask: IPAddress) -> IPAddress {
        IPAddress(high: address.high & mask.high, low: address.low & mask.low)
    }

    /// A mask of the first bits of 64.
    private static func ones(_ count: Int) -> UInt64 {
        count <= 0 ? 0 : count >= 64 ? .max : ~(UInt64.max >> UInt64(count))
    }
}
