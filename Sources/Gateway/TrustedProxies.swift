package import WorkerProtocol
package import Workers
import NIOHTTP1

/// The proxies whose word counts on where a request comes from.
package struct TrustedProxies: Hashable, Sendable {
    private let prefixes: [AddressPrefix]
    /// Whether the other end of a connection is a proxy whatever its address.
    private let isBehindProxy: Bool

    package init(_ prefixes: [AddressPrefix] = [], isBehindProxy: Bool = false) {
        self.prefixes = prefixes
        self.isBehindProxy = isBehindProxy
    }

    /// Those of Cloud Run and Knative: every peer, and proxies before it on the same machine. Private addresses may be
    /// clients' there, which can send any header.
    package static func platform(beside others: [AddressPrefix]) -> TrustedProxies {
        let near = ["127.0.0.0/8", "169.254.0.0/16", "::1", "fe80::/10"].compactMap { AddressPrefix($0) }
        return TrustedProxies(near + others, isBehindProxy: true)
    }

    /// Whether several clients may be behind a peer: it is trusted to forward their requests, or a program of this machine.
    func mayBeMany(_ peer: IPAddress) -> Bool {
        isProxy(peer) || Self.own.contains { $0.contains(peer) }
    }

    /// Whether a peer is trusted to forward requests.
    func isProxy(_ peer: IPAddress) -> Bool { isBehindProxy || contains(peer) }

    private static let own = ["127.0.0.0/8", "::1"].compactMap { AddressPrefix($0) }

    func contains(_ address: IPAddress) -> Bool { prefixes.contains { $0.contains(address) } }

    /// The client's address: the last one on the request's way that isn't a trusted proxy.
    ///
    /// `X-Forwarded-For` is read from its end. What stands before the first address that isn't trusted was written by
    /// the client, and may be anything.
    /// - Parameter peer: the other end of the connection.
    func client(_ peer: IPAddress, _ headers: HTTPHeaders) -> IPAddress {
        client(peer, forwardedFor: headers["X-Forwarded-For"])
    }

    /// - Parameter values: those of `X-Forwarded-For`, in their order.
    package func client(_ peer: IPAddress, forwardedFor values: [String]) -> IPAddress {
        guard isBehindProxy || (!prefixes.isEmpty && contains(peer)) else { return peer }
        var client = peer
        for header in values.reversed() {
            for part in header.utf8.split(separator: UInt8(ascii: ",")).reversed() {
                guard let address = Self.address(part) else { return client }
                client = address
                if !contains(address) { return client }
            }
        }
        return client
    }

    /// Some proxies write the port behind the address: `192.0.2.1:4711`, `[2001:db8::1]:4711`.
    private static func address(_ part: Substring.UTF8View) -> IPAddress? {
        // With other letters, a separator could be a part of another character.
        guard part.allSatisfy({ $0 < 0x80 }) else { return nil }
        let text = Substring(part).drop { $0 == " " || $0 == "\t" }.prefix { $0 != " " && $0 != "\t" }
        if text.first == "[" { return IPAddress(text.dropFirst().prefix { $0 != "]" }) }
        if let address = IPAddress(text) { return address }
        return text.count { $0 == ":" } == 1 ? IPAddress(text.prefix { $0 != ":" }) : nil
    }
}
