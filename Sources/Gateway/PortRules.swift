package import NIOHTTP1
import TextFormats

extension HTTPRequestHead {
    /// Whether the texts of the head can be compared in a time that other connections can wait: see ``CombiningMarks``.
    var isComparable: Bool {
        CombiningMarks.areFew(in: uri) && headers.allSatisfy { CombiningMarks.areFew(in: $0.value) }
    }

    /// The head with its target as a path. A client that takes the host for a proxy sends the whole URL, whose authority
    /// replaces `Host` (RFC 9112, section 3.2.2).
    var inOriginForm: HTTPRequestHead {
        guard uri.utf8.first != UInt8(ascii: "/"),
            let scheme = ["http://", "https://"].first(where: {
                String(uri.utf8.prefix($0.utf8.count))?.lowercased() == $0
            })
        else { return self }
        let rest = uri.utf8.dropFirst(scheme.utf8.count)
        let authority = rest.prefix { $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: "?") }
        let path = String(Substring(rest[authority.endIndex...]))
        var head = self
        head.uri = path.utf8.first == UInt8(ascii: "/") ? path : "/" + path
        // Several are ambiguous, and so is none.
        if headers["Host"].count == 1 {
            head.headers.replaceOrAdd(name: "Host", value: String(Substring(authority)))
        }
        return head
    }

    /// What makes a request ambiguous, so that a proxy before this host may have read another one, or take too long to
    /// read; nil for nothing.
    package var ambiguity: String? {
        guard isComparable else {
            return "The request has more than \(CombiningMarks.most) combining marks (accents), one after the other."
        }
        let hosts = headers["Host"].count
        if hosts > 1 { return "The request has \(hosts) Host headers; send one." }
        if version.major == 1, version.minor == 0 {
            return headers.contains(name: "Transfer-Encoding")
                ? "HTTP/1.0 has no Transfer-Encoding; send a Content-Length, or use HTTP/1.1." : nil
        }
        if hosts == 0 { return "The request has no Host header." }
        // The decoder undoes "chunked" alone: the body of "gzip, chunked" would be taken for what it isn't.
        let codings = headers["Transfer-Encoding"]
        return codings.isEmpty || codings.count == 1 && codings[0].lowercased() == "chunked"
            ? nil : "The request has a Transfer-Encoding other than chunked."
    }

    /// Whether the bytes after the request may be of another protocol, which no port of ours changes to in this way:
    /// the decoder parses none of them as a request.
    package var endsRequests: Bool {
        guard method != .CONNECT else { return true }
        return headers.contains(name: "Upgrade")
            && headers[canonicalForm: "Connection"].contains {
                // Others may take long to compare.
                $0.utf8.count == 7 && $0.lowercased() == "upgrade"
            }
    }
}

/// Which requests a port answers, beyond those that its API refuses, and what they may hold of the host.
package struct PortRules: Sendable {
    /// Nil in production.
    package let hosts: LocalHosts?
    let memory: PortMemory
    let times: PortTimes
    let caller: PortCaller
    /// Whether answers count from the moment at which the server writes them. A server that counts them itself, while
    /// it reads them, has no need of it.
    let countsAnswers: Bool
    /// Whether users sign in on it. Refusals that may pass are plain text then: the web SDK takes an error in JSON for
    /// the end of the session.
    let hasSignIn: Bool
    /// Whether an access token of Google's is the owner's here. Not on the functions port: what it means to a function is
    /// its author's.
    let takesAccessTokens: Bool
    let refusals: RefusalLogger?
    /// The port's name in the log.
    let name: String

    package init(
        hosts: LocalHosts?, memory: PortMemory, times: PortTimes = PortTimes(),
        caller: PortCaller = PortCaller(), countsAnswers: Bool = true, hasSignIn: Bool = false,
        takesAccessTokens: Bool = true, refusals: RefusalLogger? = nil, name: String = ""
    ) {
        self.hosts = hosts
        self.memory = memory
        self.times = times
        self.caller = caller
        self.countsAnswers = countsAnswers
        self.hasSignIn = hasSignIn
        self.takesAccessTokens = takesAccessTokens
        self.refusals = refusals
        self.name = name
    }

    /// - Returns: nil if the request may be answered.
    func refusal(of head: HTTPRequestHead) -> LocalHosts.Refusal? {
        if let ambiguity = head.ambiguity { return .init(status: .badRequest, message: ambiguity) }
        guard let hosts else { return nil }
        if let refusal = hosts.refusal(of: head) { return refusal }
        // First whether a page sent it: most requests come from programs, with a long token.
        guard head.headers.contains(name: "Origin"), needsOwner(head) else { return nil }
        // A browser's question does nothing; what it asks about is refused then, with a reason that developers can read.
        if head.method == .OPTIONS, head.headers.contains(name: "Access-Control-Request-Method") { return nil }
        return hosts.refusal(ofForeign: head)
    }

    /// Whether a request acts as the owner or uses a helper of the emulator. Pages of other sites may do neither.
    private func needsOwner(_ head: HTTPRequestHead) -> Bool {
        // Servers may skip empty segments, as those of `//emulator/…`.
        if head.uri.split(separator: "/").first == "emulator" { return true }
        return head.headers["Authorization"].contains { value in
            let words = value.utf8.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: "\t") })
            // More words, too: to some ports they are part of the token.
            guard words.count >= 2, String(words[0])?.lowercased() == "bearer", let token = String(words[1]) else {
                return false
            }
            // The auth port takes "owner" in any case, as the emulator does.
            return token.lowercased() == "owner" || takesAccessTokens && BearerToken.isGoogleAccessToken(token)
        }
    }
}
