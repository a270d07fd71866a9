import StrictJSON
import TokenVerification

/// The keys by which others verify this host's tokens.
struct PublishedKeys {
    let keys: [SigningKey]

    /// Key id → certificate, as Google publishes them.
    var certificates: JSONObject { JSONObject(keys.map { ($0.keyID, .string($0.certificate)) }) }

    /// A JSON Web Key Set.
    var webKeySet: JSONObject { ["keys": .array(keys.map { .object($0.webKey) })] }
}

extension SigningKey {
    fileprivate var webKey: JSONObject {
        [
            "kty": "RSA", "use": "sig", "alg": "RS256", "kid": .string(keyID), "n": .string(publicNumbers.modulus),
            "e": .string(publicNumbers.exponent),
        ]
    }
}
