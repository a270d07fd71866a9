import HostJSON
import NIOCore

/// Tells whether a token is genuine and what it says.
///
/// ``verify(_:)`` is for event loops: it makes no task, hops to no actor and waits for nothing. A token seen before
/// costs a hash and a comparison, a new one an RSA verification. Only where the issuer's keys must be fetched first it
/// says so, and the caller asks again when ``whenKeysArrive(_:)`` has called back.
package final class TokenVerifier: Sendable {
    package enum Outcome: Hashable, Sendable {
        case valid(VerifiedToken)
        /// Refuse the call as UNAUTHENTICATED and log the reason.
        case invalid(TokenRejection)
        /// The token is of a key that is not at hand and may be had in a moment.
        case needsKeys
        /// The issuer's keys can't be had: refuse the call as UNAVAILABLE, the token may well be good.
        case unavailable
    }

    private let kind: TokenKind
    private let policy: TokenPolicy
    private let localKeys: KeySet
    private let remoteKeys: KeyCache?
    private let now: WallClock
    private let cache: VerifiedTokenCache

    /// - Parameters:
    ///   - localKeys: The host's own, asked first.
    ///   - remoteKeys: Google's; nil where only the host's own tokens count, as for projects named `demo-…`. Its
    ///     `run()` must be running.
    ///   - now: What `exp` and the other times are held against.
    package init(
        kind: TokenKind, policy: TokenPolicy, localKeys: KeySet = KeySet(), remoteKeys: KeyCache?,
        now: @escaping WallClock = systemWallClock
    ) {
        self.kind = kind
        self.policy = policy
        self.localKeys = localKeys
        self.remoteKeys = remoteKeys
        self.now = now
        self.cache = VerifiedTokenCache()
    }

    /// Verifies a token with what is at hand.
    ///
    /// - Parameter token: The text behind `Bearer `.
    package func verify(_ token: some StringProtocol) -> Outcome {
        var token = Substring(token)
        return token.withUTF8 { verify($0) }
    }

    /// Verifies a token with what is at hand.
    package func verify(_ token: UnsafeBufferPointer<UInt8>) -> Outcome {
        let now = now()
        if let known = cache.token(for: token, now: now) { return .valid(known) }
        return verifyAnew(token, now: now)
    }

    /// Verifies a token, and where its key must be fetched waits for that once.
    package func verifyAfterFetch(_ token: String) async -> Outcome {
        let outcome = verify(token)
        guard outcome == .needsKeys else { return outcome }
        await withCheckedContinuation { continuation in
            whenKeysArrive { continuation.resume() }
        }
        let second = verify(token)
        return second == .needsKeys ? .unavailable : second
    }

    /// Calls back once, when the fetch that ``Outcome/needsKeys`` speaks of has ended, well or not.
    ///
    /// Verify again then, and take a second `needsKeys` for `unavailable`. The callback comes on any thread, or at once
    /// where nothing is under way; a fetch is bounded in time.
    package func whenKeysArrive(_ callback: @escaping @Sendable () -> Void) {
        guard let remoteKeys else { return callback() }
        remoteKeys.whenFetched(callback)
    }

    private func verifyAnew(_ text: UnsafeBufferPointer<UInt8>, now: Int64) -> Outcome {
        do throws(TokenRejection) {
            let token = try JSONWebToken(text)
            if token.algorithm == "none" { return .valid(try acceptUnsigned(token)) }
            guard token.algorithm == "RS256" else {
                throw kind.isCustomToken(token.claims) ? .customToken : .algorithm
            }
            // Claims come before the key: a token that could not pass anyway never causes a fetch.
            let subject = try kind.checkIdentity(token.claims)
            let expires = try kind.checkTimes(token.claims, now: now)
            guard let keyID = token.keyID, !keyID.isEmpty else { throw .noKeyID }
            let key: PublicKey
            switch lookUp(keyID) {
            case .key(let found): key = found
            case .unknown: throw .unknownKey
            case .fetching: return .needsKeys
            case .unavailable: return .unavailable
            }
            let signed = UnsafeBufferPointer(rebasing: text[..<token.signedCount])
            guard key.isValid(token.signature, for: signed) else { throw .signature }
            let verified = VerifiedToken(
                subject: subject, claims: ByteBuffer(bytes: token.payload), expires: expires)
            cache.store(verified, for: text)
            return .valid(verified)
        } catch {
            return .invalid(error)
        }
    }

    /// Unsigned tokens aren't cached: it would save nothing, and what the cache holds was verified.
    private func acceptUnsigned(_ token: JSONWebToken) throws(TokenRejection) -> VerifiedToken {
        guard policy.acceptsUnsignedTokens, case .idToken = kind, token.signature.isEmpty else { throw .unsigned }
        let subject = try kind.checkIdentity(token.claims)
        return VerifiedToken(
            subject: subject, claims: ByteBuffer(bytes: token.payload), expires: token.claims["exp"]?.seconds ?? 0)
    }

    private func lookUp(_ keyID: String) -> KeyLookup {
        if let key = localKeys[keyID] { return .key(key) }
        return remoteKeys?.lookUp(keyID) ?? .unknown
    }
}
