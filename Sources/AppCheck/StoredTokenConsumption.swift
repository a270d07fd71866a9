import Crypto
import TokenVerification
package import UserStore

/// Records consumed tokens in the store, so that a replay is noticed after a restart too.
package struct StoredTokenConsumption: TokenConsumption {
    private let users: UserStore

    package init(_ users: UserStore) { self.users = users }

    package func consume(_ token: String, expires: Int64, _ completion: @escaping @Sendable (Bool?) -> Void) {
        let hash = Array(SHA256.hash(data: Array(token.utf8)))
        users.commit {
            try $0.consume(hash, expires: expires)
        } completion: { result in
            completion(try? result.get())
        }
    }
}
