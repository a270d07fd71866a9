import NIOCore

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// How operators direct the requests of a process: by the environment variables that libcurl and OpenSSL read.
struct NetworkSettings: Sendable {
    /// Read once, since the environment doesn't change.
    static let process = NetworkSettings(ProcessInfo.processInfo.environment)

    /// This machine, and the metadata server of its cloud. A proxy has a machine and a cloud identity of its own, and would
    /// see the tokens.
    private static let local = ["localhost", "127.0.0.0/8", "::1", "169.254.0.0/16", "metadata.google.internal"]

    /// A file of trusted roots (PEM) in place of the system's.
    let rootsFile: String?
    /// By scheme.
    private let proxies: [String: Result<HTTPProxy, HTTPProxy.Unusable>]
    private let exceptions: [ProxyException]

    init(_ variables: [String: String]) {
        func value(_ names: String...) -> (name: String, text: String)? {
            names.lazy.compactMap { name in variables[name].map { (name, $0) } }.first { !$0.1.isEmpty }
        }
        rootsFile = value("SSL_CERT_FILE")?.text
        let values = [
            // Of CGI programs, HTTP_PROXY is a header of the client (CVE-2016-5385).
            "http": value("http_proxy", "all_proxy", "ALL_PROXY"),
            "https": value("https_proxy", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"),
        ]
        proxies = values.compactMapValues { value in
            value.map { value in
                Result { () throws(HTTPProxy.Unusable) in try HTTPProxy(value.text, variable: value.name) }
            }
        }
        let texts = value("no_proxy", "NO_PROXY")?.text.split { $0 == "," || $0.isWhitespace } ?? []
        exceptions = (Self.local + texts.map(String.init)).map { ProxyException($0) }
    }

    /// The proxy for a scheme; nil if there is none, or an unusable one.
    func proxy(scheme: String) -> HTTPProxy? { try? proxies[scheme]?.get() }

    /// - Returns: nil if requests to the host go there directly.
    func proxy(scheme: String, host: String) throws(HTTPProxy.Unusable) -> HTTPProxy? {
        guard let proxy = proxies[scheme], !exceptions.contains(where: { $0.contains(host) }) else { return nil }
        return try proxy.get()
    }
}

/// An HTTP proxy.
struct HTTPProxy: Hashable, Sendable {
    /// Why a variable can't be used, in words that hold no password.
    struct Unusable: Error, Hashable {
        var reason: String
    }

    /// An IPv6 address has no brackets.
    var host: String
    var port: Int
    var user: String?
    var password: String?

    /// libcurl's.
    private static let defaultPort = 1080

    /// - Parameter text: `[http://][user:password@]host[:port]`
    init(_ text: String, variable: String) throws(Unusable) {
        guard let url = URL(string: text.contains("://") ? text : "http://" + text), let host = url.host, !host.isEmpty
        else { throw Unusable(reason: "\(variable) is not the address of a proxy") }
        guard let scheme = url.scheme?.lowercased(), scheme == "http" else {
            throw Unusable(reason: "\(variable) names a proxy of the kind \(url.scheme ?? ""); only http is supported")
        }
        // Of an address with another port, NIO would trap.
        guard (1...65_535).contains(url.port ?? Self.defaultPort) else {
            throw Unusable(reason: "\(variable) names a port that doesn't exist")
        }
        self.host = host.filter { $0 != "[" && $0 != "]" }
        port = url.port ?? Self.defaultPort
        user = url.user(percentEncoded: false)
        password = url.password(percentEncoded: false)
    }
}

/// An entry of `no_proxy`: all hosts, an address, a network, or a domain with all below it.
private enum ProxyException: Sendable {
    case all
    case network(SocketAddress, bits: Int?)
    case domain(String)

    init(_ text: String) {
        let parts = text.split(separator: "/", omittingEmptySubsequences: false)
        let address = parts.first.flatMap { SocketAddress(host: String($0)) }
        if text == "*" {
            self = .all
        } else if let address, parts.count == 1 {
            self = .network(address, bits: nil)
        } else if let address, parts.count == 2, let bits = Int(parts[1]) {
            self = .network(address, bits: bits)
        } else {
            self = .domain(Self.name(text.hasPrefix(".") ? text.dropFirst() : text[...]))
        }
    }

    private static func name(_ text: Substring) -> String {
        (text.hasSuffix(".") ? text.dropLast() : text).lowercased()
    }

    func contains(_ host: String) -> Bool {
        switch self {
        case .all: return true
        case .network(let network, let bits):
            return SocketAddress(host: host)?.begins(like: network, bits: bits) == true
        case .domain(let domain):
            let host = Self.name(host[...])
            return host == domain || !domain.isEmpty && host.hasSuffix("." + domain)
        }
    }
}

extension SocketAddress {
    /// Nil for a name.
    init?(host: String) {
        let address = try? SocketAddress(ipAddress: host.filter { $0 != "[" && $0 != "]" }, port: 0)
        guard let address else { return nil }
        self = address
    }

    /// - Parameter bits: nil for all.
    fileprivate func begins(like other: SocketAddress, bits: Int?) -> Bool {
        let (own, others) = (bytes, other.bytes)
        let bits = bits ?? own.count * 8
        guard own.count == others.count, (0...own.count * 8).contains(bits) else { return false }
        return (0..<bits).allSatisfy { (own[$0 / 8] ^ others[$0 / 8]) & (0x80 >> ($0 % 8)) == 0 }
    }

    private var bytes: [UInt8] {
        switch self {
        // Systems differ in how these structures begin, but not in the address's offset.
        case .v4(let address): withUnsafeBytes(of: address.address) { Array($0[4..<8]) }
        case .v6(let address): withUnsafeBytes(of: address.address) { Array($0[8..<24]) }
        case .unixDomainSocket: []
        }
    }
}
