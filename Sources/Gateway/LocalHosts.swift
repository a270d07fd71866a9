import WorkerProtocol
package import NIOHTTP1
import StrictJSON
package import Workers

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Darwin)
    import Darwin
#endif

/// The names and addresses under which a host in development is called. Production has no such list: any name may lead
/// there, and nothing is open to callers just because they reach it.
///
/// In development a page of any site could otherwise act as the developer: by `Bearer owner`, or by a name of its own
/// that it lets lead to this machine. Such an attack needs a name, so addresses are always allowed.
package struct LocalHosts: Sendable {
    private let patterns: [HostPattern]
    /// The setting in which a developer allows further names.
    private let setting: String

    /// - Parameters:
    ///   - patterns: further names.
    ///   - setting: where they are set, for error messages.
    package init(_ patterns: [HostPattern] = [], setting: String) {
        let own = ["localhost", "*.localhost", "host.docker.internal"] + Self.machineNames()
        self.patterns = own.compactMap { HostPattern($0) } + patterns
        self.setting = setting
    }

    /// The names that this machine has in its network.
    private static func machineNames() -> [String] {
        var bytes = [CChar](repeating: 0, count: 256)
        guard gethostname(&bytes, bytes.count - 1) == 0 else { return [] }
        let name = String(decoding: bytes.lazy.map(UInt8.init(bitPattern:)).prefix { $0 != 0 }, as: UTF8.self)
        let short = name.prefix { $0 != "." }
        // As other devices in the same network name it.
        return [name, "\(short)", "\(short).local"]
    }

    /// Whether an authority, a host with or without a port, is one of these.
    package func contains(_ authority: some StringProtocol) -> Bool {
        guard let host = Self.host(of: authority) else { return false }
        if IPAddress(host) != nil { return true }
        let name = (host.last == "." ? host.dropLast() : host[...]).lowercased()
        return patterns.contains { $0.matches(name) }
    }

    /// Whether a browser sent a request for a page of another site: its `Origin` is a host that isn't one of these, or
    /// it doesn't say which.
    package func isForeign(origin: String) -> Bool {
        guard let scheme = origin.range(ofUTF8: "://") else { return true }
        let authority = origin[scheme.upperBound...]
        guard let host = Self.host(of: authority), let address = IPAddress(host) else { return !contains(authority) }
        // A page needs no name to be served from a public address.
        return !Self.near.contains { $0.contains(address) } && !patterns.contains { $0.matches(address) }
    }

    /// The addresses of this machine and its networks. The first two stand for this machine, too: servers print them.
    private static let near = [
        "0.0.0.0", "::", "127.0.0.0/8", "10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", "169.254.0.0/16",
        "100.64.0.0/10", "::1", "fc00::/7", "fe80::/10",
    ].compactMap { AddressPrefix($0) }

    /// The host without its port; without brackets if it is an IPv6 address.
    private static func host<Text: StringProtocol>(of authority: Text) -> String? {
        // Each request is looked at: bytes are compared, and not characters.
        let bytes = authority.utf8
        if bytes.first == UInt8(ascii: "[") {
            guard let end = bytes.firstIndex(of: UInt8(ascii: "]")), isPort(bytes[bytes.index(after: end)...]) else {
                return nil
            }
            return String(authority[bytes.index(after: bytes.startIndex)..<end])
        }
        guard let colon = bytes.firstIndex(of: UInt8(ascii: ":")) else {
            return authority.isEmpty ? nil : String(authority)
        }
        guard colon > bytes.startIndex, isPort(bytes[colon...]) else { return nil }
        return String(authority[..<colon])
    }

    /// Whether a text is what may follow a host: nothing, or a colon and digits.
    private static func isPort(_ text: some Collection<UInt8>) -> Bool {
        text.isEmpty || text.first == UInt8(ascii: ":") && text.dropFirst().allSatisfy { (48...57).contains($0) }
    }
}

extension LocalHosts {
    /// Why a request isn't answered.
    package struct Refusal: Hashable, Sendable {
        package let status: HTTPResponseStatus
        package let message: String
    }

    /// Refuses a request to a name that isn't one of these.
    ///
    /// - Returns: nil if the request may be answered.
    package func refusal(of head: HTTPRequestHead) -> Refusal? {
        guard let host = head.headers.first(name: "Host"), !contains(host) else { return nil }
        return Refusal(
            status: .misdirectedRequest,
            message: "In development the host answers only to addresses, localhost and names of this machine, not to "
                + "\(host.excerpt); add the name to \(setting) if it is meant.")
    }

    /// Refuses a request of a page of another site.
    package func refusal(ofForeign head: HTTPRequestHead) -> Refusal? {
        guard let origin = head.headers["Origin"].first(where: isForeign(origin:)) else { return nil }
        return Refusal(
            status: .forbidden,
            message:
                "A page of \(origin.excerpt) may not do this: it is for pages and programs of this machine; add the "
                + "page's host to \(setting) if it is meant.")
    }
}

extension String {
    fileprivate func range(ofUTF8 text: StaticString) -> Range<Index>? {
        let wanted = text.withUTF8Buffer { Array($0) }
        var start = startIndex
        while start < endIndex {
            if utf8[start...].starts(with: wanted) { return start..<utf8.index(start, offsetBy: wanted.count) }
            start = utf8.index(after: start)
        }
        return nil
    }
}
