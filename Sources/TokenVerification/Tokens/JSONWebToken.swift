package import StrictJSON
import TextFormats

/// A parsed JSON Web Token. None of its content is verified.
package struct JSONWebToken {
    /// `alg`, such as RS256.
    package var algorithm: String
    /// `kid`.
    package var keyID: String?
    package var claims: JSONNode
    /// The claims as JSON, as they are in the token.
    package var payload: [UInt8]
    /// Empty for an unsigned token.
    package var signature: [UInt8]
    /// How many bytes at the start of the text are signed: header, dot and payload.
    package var signedCount: Int

    /// Google's tokens have about 1 KiB; with many custom claims, 3.
    package static let maxBytes = 16 * 1024

    /// - Throws: `oversized` or `malformed`.
    package init(_ text: UnsafeBufferPointer<UInt8>) throws(TokenRejection) {
        guard text.count <= Self.maxBytes else { throw .oversized }
        let dot = UInt8(ascii: ".")
        guard let first = text.firstIndex(of: dot), let second = text[(first + 1)...].firstIndex(of: dot),
            let header = Base64URL.decode(text[..<first]),
            let payload = Base64URL.decode(text[(first + 1)..<second]),
            let signature = Base64URL.decode(text[(second + 1)...]),
            let headerNode = try? JSONNode(parsing: header), let claims = try? JSONNode(parsing: payload),
            case .object = claims.kind, let algorithm = headerNode["alg"]?.text,
            // "crit" names extensions that must be understood. None is supported.
            headerNode["crit"] == nil
        else { throw .malformed }
        self.algorithm = algorithm
        self.keyID = headerNode["kid"]?.text
        self.claims = claims
        self.payload = payload
        self.signature = signature
        self.signedCount = second
    }
}

extension JSONNode {
    /// The string, if this is one.
    package var text: String? {
        guard case .string(let text) = kind else { return nil }
        return text
    }

    /// The number in whole seconds, if it can be a time. `exp` may have a fraction, which is cut off.
    package var seconds: Int64? {
        switch kind {
        case .integer(let seconds): seconds
        case .double(let seconds) where abs(seconds) < 1e15: Int64(seconds)
        default: nil
        }
    }

    /// Whether this is exactly that string, byte by byte: == would treat canonically equivalent strings as equal.
    package func isText(_ expected: String) -> Bool { text?.utf8.elementsEqual(expected.utf8) ?? false }
}
