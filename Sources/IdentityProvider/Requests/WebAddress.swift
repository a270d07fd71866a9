import Foundation

/// An absolute address of the web or of an app: with a scheme and a host.
///
/// An address that browsers may read in another way than this host is none: with a backslash, which they take for a slash,
/// with control characters, which they leave out, or with a user before the host.
struct WebAddress: Hashable, Sendable {
    let text: String
    let scheme: String
    let host: String
    /// What is after `?`, and after `#`, still encoded.
    let query: String
    let fragment: String

    init?(_ text: String) {
        guard text.utf8.count <= 16_384,
            !text.utf8.contains(where: { $0 <= 0x20 || $0 == 0x7F || $0 == UInt8(ascii: "\\") }),
            let components = URLComponents(string: text),
            let scheme = components.scheme, let host = components.host, !host.isEmpty, components.user == nil,
            components.password == nil
        else { return nil }
        // The host is where a browser looks for it.
        let start = scheme + "://" + host
        guard text.lowercased().hasPrefix(start.lowercased()),
            [nil, ":", "/", "?", "#"].contains(text.dropFirst(start.count).first)
        else { return nil }
        self.text = text
        self.scheme = scheme.lowercased()
        self.host = host.lowercased()
        query = components.percentEncodedQuery ?? ""
        fragment = components.percentEncodedFragment ?? ""
    }
}
