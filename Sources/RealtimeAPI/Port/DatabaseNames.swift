import RealtimeModel

/// Which database a request is for: its parameter `ns` says it, else its host may, else there can be a default.
///
/// A host names a database by its first label if it is one of Firebase's, or below `localhost` (as firebase-tools addresses
/// the databases of an emulator), or if the label is the name of a database that is known beforehand: firebase-tools sends
/// many requests without `ns` if the host has the name.
package struct DatabaseNames: Sendable {
    /// The database of requests that name none; nil refuses them.
    package var fallback: String?
    /// Names that are looked for in any host.
    package var known: Set<String>

    private static let suffixes = [".firebaseio.com", ".firebasedatabase.app", ".localhost"]

    package init(fallback: String? = nil, known: some Sequence<String> = []) {
        self.fallback = fallback
        self.known = Set(known)
    }

    /// - Parameters:
    ///   - parameter: the parameter's value; nil or empty if there is none.
    ///   - host: the header, with or without a port.
    /// - Returns: a name in lowercase letters, as hosts have it.
    func name(_ parameter: String?, host: String?) throws(RESTRefusal) -> String {
        if let parameter, !parameter.isEmpty {
            guard RealtimeLimits.isDatabaseName(parameter) else {
                throw RESTRefusal(400, "ns is not the name of a database.")
            }
            return parameter.lowercased()
        }
        guard let name = host.flatMap({ name(ofHost: $0) }) ?? fallback else {
            throw RESTRefusal(400, "The request names no database: add ns to the URL.")
        }
        return name
    }

    private func name(ofHost host: String) -> String? {
        let host = host.prefix { $0 != ":" }.lowercased()
        guard let dot = host.firstIndex(of: "."), dot > host.startIndex else { return nil }
        let label = String(host[..<dot])
        guard known.contains(label) || Self.suffixes.contains(where: { host.hasSuffix($0) }),
            RealtimeLimits.isDatabaseName(label)
        else { return nil }
        return label
    }
}
