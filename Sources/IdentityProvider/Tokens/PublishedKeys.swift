package import StrictJSON
package import TokenVerification

/// The keys by which others verify this host's tokens.
package struct PublishedKeys {
    let keys: [SigningKey]

    package init(keys: [SigningKey]) { self.keys = keys }

    /// Key id → certificate, as Google publishes them.
    var certificates: JSONObject { JSONObject(keys.map { ($0.keyID, .string($0.certificate)) }) }

    /// A JSON Web Key Set.
    package var webKeySet: JSONObject { ["keys": .array(keys.map { .object($0.webKey) })] }
}

extension SigningKey {
    fileprivate var webKey: JSONObject {
        [
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": .string(keyID), "n": .string(publicNumbers.modulus),
            "e": .string(publicNumbers.exponent),
        ]
    }
}
