import Crypto
import TextFormats

/// Random texts, and hashes of those that are stored.
enum Secrets {
    static func bytes(_ count: Int) -> [UInt8] {
        var generator = SystemRandomNumberGenerator()
        return (0..<count).map { _ in generator.next() }
    }

    /// 43 characters: 256 random bits.
    static func text() -> String { Base64URL.encode(bytes(32)) }

    /// A text of letters and digits. 28 of them, as Firebase's uids have, are 166 random bits.
    static func id(_ length: Int = 28) -> String {
        let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789")
        return String((0..<length).compactMap { _ in alphabet.randomElement() })
    }

    /// Six digits.
    static func digits() -> String {
        let number = String(Int.random(in: 0...999_999))
        return String(repeating: "0", count: 6 - number.utf8.count) + number
    }

    static func hash(_ text: String) -> [UInt8] { Array(SHA256.hash(data: Array(text.utf8))) }
}
