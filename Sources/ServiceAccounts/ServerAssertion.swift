import StrictJSON
import TokenVerification

/// A token that a server has signed with its key: an assertion for `/token`, or an access token of its own.
struct ServerAssertion {
    enum Purpose {
        /// `assertion` of RFC 7523.
        case grant
        /// What google-auth calls a self-signed JWT: presented instead of an access token.
        case access
    }

    /// Why the token is refused, in a sentence for its sender. No part of the token is repeated.
    struct Refusal: Error, Hashable {
        let description: String

        init(_ description: String) { self.description = description }
    }

    /// The key's id.
    let keyID: String
    /// Seconds since 1970.
    let expires: Int64

    /// A longer one is refused, as by Google.
    static let maxLifetime: Int64 = 3600
    /// How many seconds ago Google's library for PHP says that it has issued what it presents, for clocks that differ.
    private static let backdating: Int64 = 60
    /// Seconds by which clocks may differ.
    static let clockSkew: Int64 = 300

    /// google-auth for Python, and others, write this audience whatever the key file says.
    private static let googleTokenURI = "https://oauth2.googleapis.com/token"
    /// Audiences and scopes that Google's libraries write for Firestore (AIP-4111; `_create_self_signed_jwt` of
    /// google-auth; gRPC's own JWT credentials add the service's name).
    private static let audiences = [
        "https://firestore.googleapis.com/", "https://firestore.googleapis.com",
        "https://firestore.googleapis.com/google.firestore.v1.Firestore",
    ]
    private static let scopes = [
        "https://www.googleapis.com/auth/datastore", "https://www.googleapis.com/auth/cloud-platform",
    ]

    /// Verifies a token.
    ///
    /// - Parameter entries: the keys that the token may be signed with: that of its `kid`, or without one those of its
    ///   issuer. Google's libraries for PHP and Ruby don't name the key of what they present.
    /// - Throws: a ``Refusal``.
    init(
        _ text: UnsafeBufferPointer<UInt8>, for purpose: Purpose, now: Int64,
        entries: (_ issuer: String, _ keyID: String?) -> [ServiceAccountStore.Entry]
    ) throws(Refusal) {
        let token: JSONWebToken
        do throws(TokenRejection) { token = try JSONWebToken(text) } catch { throw Refusal(error.message) }
        guard token.algorithm == "RS256" else { throw Refusal(TokenRejection.algorithm.message) }
        let id = token.keyID.flatMap { $0.isEmpty ? nil : $0 }
        guard id != nil || purpose == .access else { throw Refusal(TokenRejection.noKeyID.message) }
        let found = entries(token.claims["iss"]?.text ?? "", id)
        var refusal = Refusal("the host has no key of this id; it may have been revoked")
        guard !found.isEmpty else { throw refusal }
        let identity = Identity(token.claims)
        var candidates: [ServiceAccountStore.Entry] = []
        for entry in found {
            do throws(Refusal) {
                try Self.check(identity, of: entry.key, for: purpose)
                candidates.append(entry)
            } catch {
                refusal = error
            }
        }
        guard !candidates.isEmpty else { throw refusal }
        expires = try Self.checkTimes(token.claims, for: purpose, now: now)
        // Last, because it costs the most.
        let signed = UnsafeBufferPointer(rebasing: text[..<token.signedCount])
        guard let signer = candidates.first(where: { $0.publicKey.isValid(token.signature, for: signed) }) else {
            throw Refusal(TokenRejection.signature.message)
        }
        keyID = signer.key.id
    }

    /// The claims that are compared with each key, read once: a stranger's token may have thousands of claims and scopes.
    private struct Identity {
        let issuer, subject: JSONNode?
        /// Nil if it is empty, too: Go's libraries write such a one beside scopes.
        let audience: JSONNode?
        /// Whether the scopes of a token without an audience are for documents.
        let hasScope: Bool

        init(_ claims: JSONNode) {
            issuer = claims["iss"]
            subject = claims["sub"]
            audience = claims["aud"].flatMap { $0.isText("") ? nil : $0 }
            guard audience == nil, let given = claims["scope"]?.text else {
                hasScope = false
                return
            }
            hasScope = given.utf8.split(separator: UInt8(ascii: " ")).contains { scope in
                ServerAssertion.scopes.contains { scope.elementsEqual($0.utf8) }
            }
        }
    }

    private static func check(
        _ identity: Identity, of key: ServiceAccountKey, for purpose: Purpose
    ) throws(Refusal) {
        guard identity.issuer?.isText(key.email) == true else {
            throw Refusal("the issuer (iss) is not the address of the key, \(key.email)")
        }
        if let subject = identity.subject, !subject.isText(key.email) {
            throw Refusal("the subject (sub) is another one than the issuer; servers act for themselves alone")
        }
        switch purpose {
        case .grant:
            guard let audience = identity.audience,
                audience.isText(key.tokenURI) || audience.isText(googleTokenURI)
            else {
                throw Refusal("the audience (aud) is not the token URI of the key file, \(key.tokenURI)")
            }
        case .access:
            if let audience = identity.audience {
                guard (audiences + ownAudiences(key)).contains(where: { audience.isText($0) }) else {
                    throw Refusal("the audience (aud) is not Firestore, \(audiences[0])")
                }
            } else if !identity.hasScope {
                throw Refusal("the token has neither an audience (aud) nor the scope \(scopes[0])")
            }
        }
    }

    /// The host itself, as its key file names it. Google's library for Java, and gRPC's for Node, leave out the port.
    private static func ownAudiences(_ key: ServiceAccountKey) -> [String] {
        guard let scheme = key.tokenURI.firstRange(of: "://") else { return [] }
        let origin = String(
            key.tokenURI[..<(key.tokenURI[scheme.upperBound...].firstIndex(of: "/") ?? key.tokenURI.endIndex)])
        // Not a colon of an IPv6 address, which is in brackets.
        let port = origin[scheme.upperBound...].lastIndex(of: ":").flatMap { origin[$0...].contains("]") ? nil : $0 }
        return [origin, String(origin[..<(port ?? origin.endIndex)])].flatMap {
            [$0, $0 + "/", $0 + "/google.firestore.v1.Firestore"]
        }
    }

    private static func checkTimes(
        _ claims: JSONNode, for purpose: Purpose, now: Int64
    ) throws(Refusal) -> Int64 {
        guard let issued = claims["iat"]?.seconds, issued <= now + clockSkew else {
            throw Refusal(TokenRejection.issuedInFuture.message)
        }
        guard let expires = claims["exp"]?.seconds, expires > now else { throw Refusal(TokenRejection.expired.message) }
        // The claims aren't verified yet: a difference of them could overflow.
        guard expires <= issued + maxLifetime + (purpose == .access ? backdating : 0) else {
            throw Refusal("the token is valid for more than an hour after its time of issue (exp, iat)")
        }
        if let start = claims["nbf"] {
            guard let start = start.seconds, start <= now + clockSkew else {
                throw Refusal("the token is not valid yet (nbf)")
            }
        }
        return expires
    }
}
