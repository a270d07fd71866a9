package import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An IPv4 or IPv6 address as 128 bits; an IPv4 address as the IPv6 address that it is mapped to.
package struct IPAddress: Hashable, Sendable {
    private(set) var high: UInt64
    private(set) var low: UInt64

    private static let mapped: UInt64 = 0x0000_FFFF_0000_0000

    init(v4 bits: UInt32) {
        high = 0
        low = Self.mapped | UInt64(bits)
    }

    init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// An address in its usual form, without a port.
    package init?(_ text: some StringProtocol) {
        let text = String(text)
        var v4 = in_addr()
        if inet_pton(AF_INET, text, &v4) == 1 {
            self.init(v4: UInt32(bigEndian: v4.s_addr))
            return
        }
        var v6 = in6_addr()
        guard inet_pton(AF_INET6, text, &v6) == 1 else { return nil }
        self = withUnsafeBytes(of: v6) { Self(bytes: $0) }
    }

    /// Nil for a peer without an address, as on a Unix socket.
    package init?(_ address: SocketAddress?) {
        switch address {
        // Systems differ in how these structures begin, but not in the address's offset.
        case .v4(let address):
            let bits = withUnsafeBytes(of: address.address) { $0.loadUnaligned(fromByteOffset: 4, as: UInt32.self) }
            self.init(v4: UInt32(bigEndian: bits))
        case .v6(let address):
            self = withUnsafeBytes(of: address.address) { Self(bytes: UnsafeRawBufferPointer(rebasing: $0[8..<24])) }
        case .unixDomainSocket, nil: return nil
        }
    }

    /// - Parameter bytes: sixteen bytes in network order.
    private init(bytes: UnsafeRawBufferPointer) {
        high = UInt64(bigEndian: bytes.loadUnaligned(as: UInt64.self))
        low = UInt64(bigEndian: bytes.loadUnaligned(fromByteOffset: 8, as: UInt64.self))
    }

    var isV4: Bool { high == 0 && low & 0xFFFF_FFFF_0000_0000 == Self.mapped }

    /// The address that identifies a caller. A household or a server has 2⁶⁴ IPv6 addresses, so only the first half
    /// counts.
    package var holder: IPAddress { isV4 ? self : IPAddress(high: high, low: 0) }
}

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
