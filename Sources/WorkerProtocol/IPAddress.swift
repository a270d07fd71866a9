package import NIOCore

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// An IPv4 or IPv6 address as 128 bits; an IPv4 address as the IPv6 address that it is mapped to.
package struct IPAddress: Hashable, Sendable, CustomStringConvertible {
    package let high: UInt64
    package let low: UInt64

    /// 127.0.0.1
    package static let loopback = IPAddress(v4: 0x7F00_0001)

    private static let mapped: UInt64 = 0x0000_FFFF_0000_0000

    package init(v4 bits: UInt32) {
        high = 0
        low = Self.mapped | UInt64(bits)
    }

    package init(high: UInt64, low: UInt64) {
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

    package var isV4: Bool { high == 0 && low & 0xFFFF_FFFF_0000_0000 == Self.mapped }

    /// The address that identifies a caller. A household or a server has 2⁶⁴ IPv6 addresses, so only the first half
    /// counts.
    package var holder: IPAddress { isV4 ? self : IPAddress(high: high, low: 0) }

    /// A number that stands for the caller in this process.
    package var holderNumber: UInt64 { UInt64(truncatingIfNeeded: holder.hashValue) }

    /// The address in its usual form: `203.0.113.9`, `2001:db8::1`.
    package var description: String {
        if isV4 { return (0..<4).map { String(low >> (24 - 8 * $0) & 255) }.joined(separator: ".") }
        var bytes = (high.bigEndian, low.bigEndian)
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        guard inet_ntop(AF_INET6, &bytes, &text, socklen_t(text.count)) != nil else { return "::" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}
