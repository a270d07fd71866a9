import StrictJSON

/// The kinds of token, each with the claims that it must have.
package enum TokenKind: Hashable, Sendable {
    /// A user's ID token for a project.
    case idToken(project: String)
    /// A session cookie: like an ID token, but longer-lived and from another issuer.
    case sessionCookie(project: String)
    /// An app's App Check token for a project, which it may name by id or by number.
    case appCheck(project: String, projectNumber: String? = nil)

    /// What Google's sign-in asks a blocking function of a project: for the function's URL.
    case blockingEvent(project: String)

    /// How many seconds a time of issue may lie in the future. Google's libraries differ here (Node's don't check it,
    /// Python's allow up to 60 s on request). Users must not be locked out because the host's clock is slow; `exp`,
    /// which ends a token, gets no such tolerance.
    static let clockSkew: Int64 = 300

    private static let customTokenAudience =
        "https://identitytoolkit.googleapis.com/google.identity.identitytoolkit.v1.IdentityToolkit"

    /// Checks all claims except for times.
    ///
    /// - Throws: the first problem.
    /// - Returns: the subject.
    func checkIdentity(_ claims: JSONNode) throws(TokenRejection) -> String {
        switch self {
        case .idToken(let project):
            guard !isCustomToken(claims) else { throw .customToken }
            guard claims["aud"]?.isText(project) == true else { throw .audience }
            guard claims["iss"]?.isText(Self.issuer(of: project)) == true else { throw .issuer }
        case .sessionCookie(let project):
            guard claims["aud"]?.isText(project) == true else { throw .audience }
            guard claims["iss"]?.isText("https://session.firebase.google.com/\(project)") == true else { throw .issuer }
        case .blockingEvent(let project):
            // The project's own id is the audience of ID tokens, which clients have.
            guard claims["aud"]?.text?.contains("://") == true else { throw .audience }
            guard claims["iss"]?.isText(Self.issuer(of: project)) == true else { throw .issuer }
        case .appCheck(let project, let number):
            guard let audience = claims["aud"], case .array(let audiences) = audience.kind else { throw .audience }
            let accepted = [project, number].compactMap { $0 }.map { "projects/\($0)" }
            guard audiences.contains(where: { audience in accepted.contains { audience.isText($0) } }) else {
                throw .audience
            }
            guard claims["iss"]?.text?.utf8.starts(with: "https://firebaseappcheck.googleapis.com/".utf8) == true else {
                throw .issuer
            }
        }
        guard let subject = claims["sub"]?.text, !subject.isEmpty, subject.utf16.count <= 128 else { throw .subject }
        return subject
    }

    /// Checks that the token is valid at this time.
    ///
    /// - Throws: the first problem.
    /// - Returns: when the token expires.
    func checkTimes(_ claims: JSONNode, now: Int64) throws(TokenRejection) -> Int64 {
        guard let expires = claims["exp"]?.seconds, expires > now else { throw .expired }
        guard let issued = claims["iat"]?.seconds, issued <= now + Self.clockSkew else { throw .issuedInFuture }
        switch self {
        case .appCheck, .blockingEvent: break
        case .idToken, .sessionCookie:
            guard let signedIn = claims["auth_time"]?.seconds, signedIn <= now + Self.clockSkew else {
                throw .authenticatedInFuture
            }
        }
        return expires
    }

    /// Whether the emulator issues unsigned ones.
    var mayBeUnsigned: Bool {
        switch self {
        case .idToken, .sessionCookie, .blockingEvent: true
        case .appCheck: false
        }
    }

    /// Whether an ID token is expected, but these are the claims of a custom token, which is a common mistake.
    func isCustomToken(_ claims: JSONNode) -> Bool {
        guard case .idToken = self else { return false }
        return claims["aud"]?.isText(Self.customTokenAudience) == true
    }

    /// The `iss` of a project's ID tokens.
    package static func issuer(of project: String) -> String { "https://securetoken.google.com/\(project)" }
}
