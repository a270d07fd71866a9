import NIOCore
import StrictJSON

/// Verifies tokens and returns their claims.
///
/// ``verify(_:)`` is safe to call on event loops: it creates no task, hops to no actor and never blocks. A token that
/// was seen before costs a hash and a comparison, a new signed one an RSA verification. If the issuer's keys must be fetched
/// first, it returns ``Outcome/needsKeys``, and the caller verifies again when ``whenKeysArrive(_:)`` calls back.
package final class TokenVerifier: Sendable {
    package enum Outcome: Hashable, Sendable {
        case valid(VerifiedToken)
        /// The token is invalid: fail the call with UNAUTHENTICATED and log the reason.
        case invalid(TokenRejection)
        /// The token's key isn't cached; a fetch that may bring it is in progress.
        case needsKeys
        /// The issuer's keys can't be fetched: fail the call with UNAVAILABLE, because the token may be valid.
        case unavailable
    }

    private let kind: TokenKind
    private let policy: TokenPolicy
    private let localKeys: LocalKeys
    private let localSubjects: Set<String>?
    private let remoteKeys: KeyCache?
    private let now: WallClock
    private let cache: VerifiedTokenCache

    /// - Parameters:
    ///   - localKeys: The host's own keys, which are looked up first.
    ///   - localSubjects: Of whom tokens with the host's own keys may be; nil for all.
    ///   - remoteKeys: Google's keys; nil if only the host's own tokens are accepted, as for projects named `demo-…`.
    ///     Its `run()` must be running.
    ///   - now: The time that `exp` and the other times are compared with.
    package init(
        kind: TokenKind, policy: TokenPolicy, localKeys: LocalKeys = LocalKeys(), localSubjects: Set<String>? = nil,
        remoteKeys: KeyCache?,
        now: @escaping WallClock = systemWallClock
    ) {
        self.kind = kind
        self.policy = policy
        self.localKeys = localKeys
        self.localSubjects = localSubjects
        self.remoteKeys = remoteKeys
        self.now = now
        self.cache = VerifiedTokenCache()
    }

    /// Verifies a token with the keys that are cached.
    ///
    /// - Parameter token: The text after `Bearer `.
    package func verify(_ token: some StringProtocol) -> Outcome {
        var token = Substring(token)
        return token.withUTF8 { verify($0) }
    }

    /// Verifies a token with the keys that are cached.
    package func verify(_ token: UnsafeBufferPointer<UInt8>) -> Outcome {
        let now = now()
        if let known = cache.token(for: token, now: now) { return .valid(known) }
        return verifyUncached(token, now: now)
    }

    /// Verifies a token. If its key must be fetched, waits for one fetch.
    package func verifyAfterFetch(_ token: String) async -> Outcome {
        let outcome = verify(token)
        guard outcome == .needsKeys else { return outcome }
        await withCheckedContinuation { continuation in
            whenKeysArrive { continuation.resume() }
        }
        let second = verify(token)
        return second == .needsKeys ? .unavailable : second
    }

    /// Calls back once, when the fetch that ``Outcome/needsKeys`` announced has succeeded or failed.
    ///
    /// Verify again then, and treat a second `needsKeys` as `unavailable`. The callback may run on any thread, and runs
    /// at once if no fetch is in progress; a fetch takes a bounded time.
    package func whenKeysArrive(_ callback: @escaping @Sendable () -> Void) {
        guard let remoteKeys else { return callback() }
        remoteKeys.whenFetched(callback)
    }

    private func verifyUncached(_ text: UnsafeBufferPointer<UInt8>, now: Int64) -> Outcome {
        do throws(TokenRejection) {
            let token = try JSONWebToken(text)
            if token.algorithm == "none" {
                let accepted = try acceptUnsigned(token, now: now)
                cache.store(accepted, for: text)
                return .valid(accepted)
            }
            guard token.algorithm == "RS256" else {
                throw kind.isCustomToken(token.claims) ? .customToken : .algorithm
            }
            // Claims are checked before the key, so that a token which can't be valid never causes a fetch.
            let subject = try kind.checkIdentity(token.claims)
            let expires = try kind.checkTimes(token.claims, now: now)
            guard let keyID = token.keyID, !keyID.isEmpty else { throw .noKeyID }
            if let localSubjects, localKeys[keyID] != nil, !localSubjects.contains(subject) { throw .app }
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

    private func acceptUnsigned(_ token: JSONWebToken, now: Int64) throws(TokenRejection) -> VerifiedToken {
        guard policy.acceptsUnsignedTokens, kind.mayBeUnsigned, token.signature.isEmpty else { throw .unsigned }
        let subject = try kind.checkIdentity(token.claims)
        // The JS SDK's `mockUserToken` has `iat: 0, exp: 3600`.
        var expires = Int64.max
        if token.claims["iat"]?.seconds != 0, let end = token.claims["exp"]?.seconds {
            guard end > now else { throw .expired }
            expires = end
        }
        return VerifiedToken(subject: subject, claims: ByteBuffer(bytes: token.payload), expires: expires)
    }

    private func lookUp(_ keyID: String) -> KeyLookup {
        if let key = localKeys[keyID] { return .key(key) }
        return remoteKeys?.lookUp(keyID) ?? .unknown
    }
}
