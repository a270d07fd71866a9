import Synchronization

/// The public keys of this host's own tokens, which may change while the host runs.
package final class LocalKeys: Sendable {
    private let keys: Mutex<KeySet>

    package init(_ keys: KeySet = KeySet()) { self.keys = Mutex(keys) }

    package func replace(with other: KeySet) { keys.withLock { $0 = other } }

    package subscript(_ keyID: String) -> PublicKey? { keys.withLock { $0[keyID] } }
}
