import Crypto
import StrictJSON
import TextFormats
import TokenVerification

/// Verifies ID tokens of OpenID Connect (section 3.1.3.7 of its core).
struct OpenIDToken {
    private static let clockSkew: Int64 = 300

    let claims: JSONObject

    /// - Parameters:
    ///   - isKnown: whether the token was presented with its nonce before, so that it may come without.
    ///   - clientIDs: whom it may be for, browsers first.
    ///   - keys: the issuer's.
    ///   - clientSecret: some issuers sign the tokens for codes with it (HS256); nil to refuse these.
    ///   - nonce: what the client had the provider put into the token, before hashing: only the client knows it.
    /// - Throws: an ``IdentityToolkitError``.
    init(
        verifying text: String, issuer: String, clientIDs: [String], nonce: String?, isKnown: Bool = false,
        keys: IssuerKeys, clientSecret: String? = nil, now: Int64
    ) async throws {
        func invalid(_ reason: String) -> IdentityToolkitError {
            IdentityToolkitError("INVALID_IDP_RESPONSE : The id_token is invalid: \(reason)")
        }
        var copy = text
        let token = try copy.withUTF8 { bytes throws(IdentityToolkitError) in
            do throws(TokenRejection) { return try JSONWebToken(bytes) } catch { throw invalid(error.message) }
        }
        guard ["RS256", "ES256", "HS256"].contains(token.algorithm) else {
            throw invalid("it is not signed with RS256 or ES256")
        }
        guard let claims = (try? JSONValue(parsing: token.payload))?.objectValue else { throw invalid("no claims") }
        // Google's tokens have had both forms.
        let issuers = [issuer, issuer == ProviderConfig.knownIssuers["google.com"] ? "accounts.google.com" : issuer]
        guard let named = claims["iss"]?.stringValue, issuers.contains(named) else {
            throw invalid(TokenRejection.issuer.message)
        }
        let audiences = claims["aud"]?.arrayValue?.compactMap(\.stringValue) ?? [claims["aud"]?.stringValue ?? ""]
        guard audiences.contains(where: clientIDs.contains) else {
            throw invalid("it was issued for another client (aud)")
        }
        guard let expires = token.claims["exp"]?.seconds, expires > now else {
            throw invalid(TokenRejection.expired.message)
        }
        guard let issued = token.claims["iat"]?.seconds, issued <= now + Self.clockSkew else {
            throw invalid(TokenRejection.issuedInFuture.message)
        }
        let expected = claims["nonce"]?.stringValue
        // Google's library on iOS makes a nonce of its own and doesn't show it to the app. Browsers' tokens need theirs.
        let isHidden =
            issuer == ProviderConfig.knownIssuers["google.com"]
            && claims["azp"]?.stringValue.map { $0 != clientIDs.first } ?? !audiences.contains(clientIDs.first ?? "")
        if expected != nil && !isKnown && !isHidden || nonce != nil {
            let hashed = nonce.map { Hexadecimal.encode(SHA256.hash(data: Array($0.utf8))) }
            guard let expected, expected == hashed else {
                throw IdentityToolkitError(
                    "MISSING_OR_INVALID_NONCE : The nonce in the id_token is not that of the request.")
            }
        }
        let isValid: Bool
        if token.algorithm == "HS256" {
            guard let clientSecret else { throw invalid("HS256 is for tokens that this host got for a code") }
            let key = SymmetricKey(data: Array(clientSecret.utf8))
            isValid = copy.withUTF8 { bytes in
                HMAC<SHA256>.isValidAuthenticationCode(
                    token.signature, authenticating: UnsafeBufferPointer(rebasing: bytes[..<token.signedCount]),
                    using: key)
            }
        } else {
            guard let keyID = token.keyID else { throw invalid(TokenRejection.noKeyID.message) }
            let key: PublicKey?
            do throws(KeySourceError) { key = try await keys.key(keyID) } catch {
                throw IdentityToolkitError.unavailable
            }
            guard let key else { throw invalid(TokenRejection.unknownKey.message) }
            isValid = copy.withUTF8 { bytes in
                key.isValid(
                    token.signature, for: UnsafeBufferPointer(rebasing: bytes[..<token.signedCount]),
                    algorithm: token.algorithm)
            }
        }
        guard isValid else { throw invalid(TokenRejection.signature.message) }
        self.claims = claims
    }
}
