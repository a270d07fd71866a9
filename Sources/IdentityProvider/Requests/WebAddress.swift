import Foundation

/// An absolute address of the web or of an app: with a scheme and a host.
struct WebAddress: Hashable, Sendable {
    let text: String
    let scheme: String
    let host: String
    /// What is after `?`, and after `#`, still encoded.
    let query: String
    let fragment: String

    init?(_ text: String) {
        guard text.utf8.count <= 16_384, let components = URLComponents(string: text),
            let scheme = components.scheme, let host = components.host, !host.isEmpty
        else { return nil }
        self.text = text
        self.scheme = scheme.lowercased()
        self.host = host.lowercased()
        query = components.percentEncodedQuery ?? ""
        fragment = components.percentEncodedFragment ?? ""
    }
}
