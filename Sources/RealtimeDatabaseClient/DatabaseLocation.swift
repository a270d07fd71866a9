import DocumentModel
import FirestoreClient
import Foundation
import HostProcess
import RealtimeModel
import StrictJSON
import TextFormats

/// Where a project's databases are, and how their addresses are made.
struct DatabaseLocation: Hashable, Sendable {
    private enum Naming: Hashable, Sendable {
        /// Each database has a host, whose first label is its name. The rest of the host follows.
        case hosts(domain: String)
        /// All have one origin, and the parameter `ns` names the database.
        case parameter(origin: String)
    }

    private let naming: Naming
    /// The name of the project's own database.
    let own: String

    /// The domains of Google's databases. Those of a region are below the second one.
    private static let domains = ["firebaseio.com", "firebasedatabase.app"]

    /// An emulator, or the database port of a functions-host in development.
    init(emulator: String, own: String) {
        naming = .parameter(origin: "http://\(emulator)")
        self.own = own
    }

    /// - Parameters:
    ///   - url: `https://NAME.firebaseio.com`, `https://NAME.REGION.firebasedatabase.app`, or the address of another host
    ///     with `?ns=NAME`.
    ///   - variable: which one has the address.
    ///   - own: the name if the address has none.
    /// - Throws: an error for the operator.
    init(url: String, from variable: String, own: String) throws(HostError) {
        let parts = URLComponents(string: url)
        guard let parts, let host = parts.host?.lowercased(), !host.isEmpty, parts.scheme?.lowercased() == "https",
            parts.user == nil, parts.fragment == nil, parts.path.isEmpty || parts.path == "/"
        else {
            throw HostError(
                "the address of the Realtime Database in \(variable) is \"\(url)\"; write one such as "
                    + "https://NAME.firebaseio.com or https://NAME.REGION.firebasedatabase.app, or set "
                    + "FIREBASE_DATABASE_EMULATOR_HOST for one without encryption")
        }
        let name = parts.queryItems?.first { $0.name == "ns" }?.value
        let labels = host.split(separator: ".", maxSplits: 1)
        if labels.count == 2, Self.isGoogles(host) {
            naming = .hosts(domain: String(labels[1]))
            self.own = name ?? String(labels[0])
        } else {
            naming = .parameter(origin: "https://\(host)" + (parts.port.map { ":\($0)" } ?? ""))
            self.own = name ?? own
        }
        guard RealtimeLimits.isDatabaseName(self.own) else {
            throw HostError("\"\(self.own)\" in \(variable) isn't the name of a Realtime Database")
        }
    }

    /// The address of a place.
    ///
    /// - Parameters:
    ///   - path: keys joined by slashes.
    ///   - instance: the database's name; empty for the project's own.
    func address(
        of path: String, in instance: String, _ parameters: [(name: String, value: String)]
    ) throws(DocumentError) -> String {
        let name = instance.isEmpty ? own : instance.lowercased()
        guard RealtimeLimits.isDatabaseName(name) else {
            throw .invalidArgument("\"\(instance.excerpt)\" isn't the name of a Realtime Database")
        }
        var parameters = parameters
        let origin: String
        switch naming {
        case .hosts(let domain): origin = "https://\(name).\(domain)"
        case .parameter(let shared):
            origin = shared
            parameters.insert(("ns", name), at: 0)
        }
        let query = parameters.map { "\($0.name)=\(PercentEncoding.encoded($0.value))" }.joined(separator: "&")
        return "\(origin)/\(PercentEncoding.encoded(path)).json" + (query.isEmpty ? "" : "?\(query)")
    }

    /// Whether a redirect leads to a server that may see the access token.
    func trusts(redirectTo address: String) -> Bool {
        switch naming {
        case .parameter(let origin): return address.hasPrefix(origin + "/")
        case .hosts:
            let parts = URLComponents(string: address)
            guard let parts, parts.scheme?.lowercased() == "https", parts.user == nil, parts.port ?? 443 == 443,
                let host = parts.host?.lowercased()
            else { return false }
            return Self.isGoogles(host)
        }
    }

    private static func isGoogles(_ host: String) -> Bool { domains.contains { host.hasSuffix("." + $0) } }
}
