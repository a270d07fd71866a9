public import DocumentModel
import TextFormats

/// The cookies of a request, decoded.
public struct Cookies: Sendable, Sequence {
    /// All cookies in order.
    public let all: [(name: String, value: String)]

    init(headers: [String]) {
        all = headers.flatMap { $0.unicodeScalars.split(separator: ";") }.compactMap { pair in
            let parts = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            guard parts.count == 2, !parts[0].trimmed.isEmpty else { return nil }
            var value = parts[1].trimmed.unicodeScalars
            if value.count > 1, value.first == "\"", value.last == "\"" { value = value.dropFirst().dropLast() }
            return (String(parts[0].trimmed), PercentEncoding.decoded(Substring(value)) ?? String(value))
        }
    }

    /// The value of a cookie; nil if the request doesn't have it.
    public subscript(_ name: String) -> String? { all.first { $0.name == name }?.value }

    public func makeIterator() -> IndexingIterator<[(name: String, value: String)]> { all.makeIterator() }
}

/// A cookie that a response sets (RFC 6265).
public struct Cookie: Sendable, Hashable {
    /// Letters, digits and the punctuation of tokens (RFC 9110, 5.6.2).
    public var name: String
    /// Any text: what a cookie can't contain is percent-encoded, and ``HTTPRequest/cookies`` decodes it.
    public var value: String
    /// The paths that the cookie is sent for. Default `/`. A function's URL has its project and region in front of it, so
    /// a narrower path is one of the whole URL.
    public var path: String
    /// The host whose subdomains get the cookie, too. Nil for only the host that sets it.
    public var domain: String?
    /// How long browsers keep the cookie. With neither this nor `expires`, until they are closed.
    public var maxAge: Duration?
    public var expires: Timestamp?
    /// Whether browsers only send it over TLS.
    public var isSecure: Bool
    /// Whether scripts of a page can't read it.
    public var isHTTPOnly: Bool
    /// Whether browsers send it with requests that other sites cause.
    public var sameSite: SameSite

    public enum SameSite: String, Sendable {
        /// No attribute: most browsers treat the cookie as lax.
        case browserDefault = ""
        case strict = "Strict"
        case lax = "Lax"
        /// Requires ``Cookie/isSecure``.
        case none = "None"
    }

    public init(
        _ name: String, _ value: String, path: String = "/", domain: String? = nil, maxAge: Duration? = nil,
        expires: Timestamp? = nil, secure: Bool = false, httpOnly: Bool = false, sameSite: SameSite = .browserDefault
    ) {
        self.name = name
        self.value = value
        self.path = path
        self.domain = domain
        self.maxAge = maxAge
        self.expires = expires
        isSecure = secure
        isHTTPOnly = httpOnly
        self.sameSite = sameSite
    }

    /// The value of a `Set-Cookie` header.
    var header: String {
        var parts = ["\(Self.name(name))=\(PercentEncoding.encoded(value))", "Path=\(Self.attribute(path))"]
        if let domain { parts.append("Domain=\(Self.attribute(domain))") }
        if let maxAge { parts.append("Max-Age=\(maxAge.components.seconds)") }
        if let expires { parts.append("Expires=\(expires.httpDate)") }
        if isHTTPOnly { parts.append("HttpOnly") }
        if isSecure { parts.append("Secure") }
        if sameSite != .browserDefault { parts.append("SameSite=\(sameSite.rawValue)") }
        return parts.joined(separator: "; ")
    }

    /// Other characters than a cookie's name may have are percent-encoded.
    private static func name(_ name: String) -> String {
        let isToken = name.utf8.allSatisfy { byte in
            switch byte {
            case 48...57, 65...90, 97...122: true
            default: "!#$%&'*+-.^_`|~".utf8.contains(byte)
            }
        }
        return isToken ? name : PercentEncoding.encoded(name)
    }

    /// A semicolon would begin another attribute.
    private static func attribute(_ text: String) -> String {
        String(Substring(text.unicodeScalars.prefix { $0 != ";" }))
    }
}

extension HTTPResponse {
    /// Adds a cookie, beside others.
    public mutating func setCookie(_ cookie: Cookie) { headers.add("Set-Cookie", cookie.header) }

    /// Removes a cookie from the browser. Path and domain must be those that it was set with.
    public mutating func deleteCookie(_ name: String, path: String = "/", domain: String? = nil) {
        setCookie(
            Cookie(name, "", path: path, domain: domain, maxAge: .zero, expires: Timestamp(seconds: 0, nanoseconds: 0)))
    }
}
