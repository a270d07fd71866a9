package import FunctionManifest

/// Which web origins may call a function from a browser.
public struct CORS: Sendable, Hashable {
    package let policy: CORSPolicy

    /// No cross-origin access.
    public static let off = CORS(policy: .off)

    /// Every origin.
    public static let any = CORS(policy: .any)

    /// These origins, each as a browser sends it: `https://shop.example`, `http://localhost:3000`. An empty list is the
    /// same as ``off``. With a text that browsers never send, such as one with a slash at its end, the bundle doesn't
    /// start.
    ///
    /// `https://*.shop.example` stands for the origins of all subdomains with one label more:
    /// `https://eu.shop.example`, and neither `https://shop.example` nor `https://a.eu.shop.example`. Use it only if
    /// all of them are yours: their pages may call the function and read its responses.
    public static func origins(_ origins: String...) -> CORS {
        CORS(policy: origins.isEmpty ? .off : .origins(origins))
    }

    public static func == (a: CORS, b: CORS) -> Bool { a.policy == b.policy }

    public func hash(into hasher: inout Hasher) {
        if case .origins(let origins) = policy { hasher.combine(origins) }
    }
}

extension CORSPolicy {
    /// Which of the origins browsers never send, so that its pages would be refused; nil if each can be one.
    var problem: String? {
        guard case .origins(let origins) = self,
            let wrong = origins.first(where: { !Self.isOrigin($0) && OriginPattern($0) == nil })
        else { return nil }
        if wrong.utf8.contains(UInt8(ascii: "*")) {
            return
                "\"\(wrong)\" isn't a pattern of origins; write one * in place of a subdomain's name, before a domain "
                + "of your own: https://*.shop.example"
        }
        return "\"\(wrong)\" isn't an origin; write it as browsers send it, without a path and without the usual port: "
            + "https://shop.example or http://localhost:3000"
    }

    /// Apps have schemes of their own, such as `capacitor://localhost`.
    private static func isOrigin(_ text: String) -> Bool {
        // Of pages that have none, such as those of files.
        if text == "null" { return true }
        guard let separator = text.firstRange(of: "://") else { return false }
        let (scheme, host) = (text[..<separator.lowerBound], text[separator.upperBound...])
        // Web views of Android may send `file://` for an app's own pages.
        guard !scheme.isEmpty, !host.isEmpty || scheme == "file" else { return false }
        let isWritten = text.utf8.allSatisfy { (0x21...0x7e).contains($0) && !(65...90).contains($0) }
        let hasMore = host.utf8.contains { "/?#@*".utf8.contains($0) }
        let hasUsualPort = scheme == "https" && host.hasSuffix(":443") || scheme == "http" && host.hasSuffix(":80")
        return isWritten && !hasMore && !hasUsualPort
    }
}
