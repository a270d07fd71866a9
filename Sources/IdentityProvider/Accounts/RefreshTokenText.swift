import TextFormats

/// A refresh token as clients have it: the uid, a secret that all tokens of one sign-in have, and one of its own.
///
/// The uid tells the tokens of deleted users from invented ones. The shared secret tells which sign-in a token belonged to
/// that isn't stored any more.
struct RefreshTokenText: Sendable {
    let text: String
    let uid: String
    /// Nil in tokens of earlier versions, and in their successors.
    let familySecret: String?

    private static let familyCharacters = 22
    private static let ownCharacters = 43

    init(of uid: String, familySecret: String?) {
        self.uid = uid
        self.familySecret = familySecret
        text = uid + "." + (familySecret ?? "") + Secrets.text()
    }

    /// - Returns: nil if the text can't be a token.
    init?(_ text: String) {
        let bytes = text.utf8
        guard let dot = bytes.lastIndex(of: UInt8(ascii: ".")) else { return nil }
        let name = bytes[..<dot]
        // A forged token may have any text there.
        guard (1...512).contains(name.count) else { return nil }
        let secret = bytes[bytes.index(after: dot)...]
        self.text = text
        uid = String(decoding: name, as: UTF8.self)
        familySecret =
            secret.count == Self.familyCharacters + Self.ownCharacters
            ? String(decoding: secret.prefix(Self.familyCharacters), as: UTF8.self) : nil
    }

    static func newFamilySecret() -> String { Base64URL.encode(Secrets.bytes(16)) }

    /// What is stored of the shared secret.
    static func family(of secret: String) -> [UInt8] { Array(Secrets.hash("family " + secret).prefix(16)) }
}
