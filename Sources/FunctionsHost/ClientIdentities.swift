import DocumentModel
import NIOCore
import SecurityRules
import Synchronization
import TokenVerification

/// The users of verified tokens, as a port's rules see them. Claims are decoded once for many requests.
final class ClientIdentities<Identity: Sendable>: Sendable {
    /// More tokens aren't kept.
    private let maxKept = 1000
    private let decode: @Sendable (VerifiedToken) -> Identity
    private let kept = Mutex<[VerifiedToken: Identity]>([:])

    init(decode: @escaping @Sendable (VerifiedToken) -> Identity) { self.decode = decode }

    /// - Parameter token: verified for this request.
    func identity(of token: VerifiedToken) -> Identity {
        if let known = kept.withLock({ $0[token] }) { return known }
        let identity = decode(token)
        kept.withLock { kept in
            if kept.count >= maxKept { kept.removeAll(keepingCapacity: true) }
            kept[token] = identity
        }
        return identity
    }
}

extension ClientIdentities where Identity == ClientIdentity {
    /// As Cloud Firestore's rules see users.
    convenience init() {
        self.init { token in
            var identity = ClientIdentity(uid: token.subject, claims: Array(token.claims.readableBytesView))
            if token.expires < .max { identity.expires = Timestamp(seconds: token.expires, nanoseconds: 0) }
            return identity
        }
    }
}
