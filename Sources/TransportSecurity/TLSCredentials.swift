import NIOSSL

/// A certificate with its key, ready to serve.
package struct TLSCredentials: Sendable {
    /// For each choice of protocols.
    let contexts: [TLSProtocols: NIOSSLContext]
    /// Seconds since 1970.
    package let expires: Int64
    /// The host names that the certificate is for.
    package let names: [String]

    /// - Throws: if the key isn't that of the first certificate.
    init(_ chain: [NIOSSLCertificate], _ key: NIOSSLPrivateKey) throws {
        var contexts: [TLSProtocols: NIOSSLContext] = [:]
        for protocols in TLSProtocols.allCases {
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
            configuration.minimumTLSVersion = .tlsv12
            configuration.applicationProtocols = protocols.names
            contexts[protocols] = try NIOSSLContext(configuration: configuration)
        }
        self.contexts = contexts
        expires = chain.first.map { Int64($0.notValidAfter) } ?? 0
        // 2 is a dNSName (RFC 5280, section 4.2.1.6).
        names =
            chain.first?._subjectAlternativeNames().filter { $0.nameType == .dnsName }.map {
                String(decoding: $0.contents, as: UTF8.self)
            } ?? []
    }
}

/// What a port speaks, as it tells clients in the handshake (ALPN, RFC 7301).
package enum TLSProtocols: CaseIterable, Hashable, Sendable {
    case http1
    case http2AndHTTP1

    var names: [String] {
        switch self {
        case .http1: ["http/1.1"]
        case .http2AndHTTP1: ["h2", "http/1.1"]
        }
    }
}
