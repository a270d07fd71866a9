/// An issuer's public keys by their ids (`kid`).
package struct KeySet: Sendable {
    private var keys: [String: PublicKey]

    package init() { keys = [:] }

    init(_ keys: [String: PublicKey]) { self.keys = keys }

    subscript(_ keyID: String) -> PublicKey? { keys[keyID] }

    var isEmpty: Bool { keys.isEmpty }
}
