import ArgumentParser
import Foundation
import HostConfiguration
import TransportSecurity

/// The `token_uri` of key files.
enum TokenAddress {
    /// - Parameter url: what the operator wrote; nil for the configured address of the firestore port.
    /// - Throws: a `ValidationError` for the operator.
    static func uri(_ url: String?, _ configuration: HostConfiguration) throws -> String {
        let text = try url ?? configured(configuration)
        guard var parts = URLComponents(string: text), let host = parts.host, !host.isEmpty,
            parts.scheme == "https" || parts.scheme == "http", parts.user == nil, parts.query == nil,
            parts.fragment == nil
        else {
            throw ValidationError("\(text) is not a URL; write one such as https://db.example.com:8080")
        }
        guard parts.scheme == "https" || configuration.mode == .development || isLocal(host) else {
            throw ValidationError(
                "\(text) would carry tokens unencrypted; in production, write --url with https, the address of the host or "
                    + "of the proxy before it")
        }
        while parts.path.hasSuffix("/") { parts.path.removeLast() }
        if parts.path.isEmpty { parts.path = "/token" }
        guard parts.path.hasSuffix("/token"), let uri = parts.string else {
            throw ValidationError("\(text) has a path that is not /token; write the address of the port alone")
        }
        return uri
    }

    private static func configured(_ configuration: HostConfiguration) throws -> String {
        let listen = configuration.listen
        guard listen.firestore != 0 else {
            throw ValidationError(
                "listen.firestore is 0, any free port; write --url with the port that servers connect to")
        }
        var host = ["0.0.0.0", "::"].contains(listen.host) ? "localhost" : listen.host
        if let files = listen.tls {
            // Clients accept the certificate under its own names.
            let names = try TLSFiles(certificate: files.certificate, key: files.key).load().names
            if let name = names.first(where: { !$0.hasPrefix("*") }) { host = name }
        }
        return
            "\(listen.tls == nil ? "http" : "https")://\(host.contains(":") ? "[\(host)]" : host):\(listen.firestore)"
    }

    private static func isLocal(_ host: String) -> Bool {
        ["localhost", "127.0.0.1", "::1", "[::1]"].contains(host) || host.hasSuffix(".localhost")
    }
}
