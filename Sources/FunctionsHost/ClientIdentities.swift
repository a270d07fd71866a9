import DocumentModel
import NIOCore
import SecurityRules
import Synchronization
import TokenVerification

/// The users of verified tokens. Their claims are decoded once for many requests.
final class ClientIdentities: Sendable {
    private static let maxKept = 1000

    private let kept = Mutex<[VerifiedToken: ClientIdentity]>([:])

    /// - Parameter token: verified for this request.
    func identity(of token: VerifiedToken) -> ClientIdentity {
        if let known = kept.withLock({ $0[token] }) { return known }
        var identity = ClientIdentity(uid: token.subject, claims: Array(token.claims.readableBytesView))
        if token.expires < .max { identity.expires = Timestamp(seconds: token.expires, nanoseconds: 0) }
        kept.withLock { kept in
            if kept.count >= Self.maxKept { kept.removeAll(keepingCapacity: true) }
            kept[token] = identity
        }
        return identity
    }
}
