import Crypto
import Foundation

/// Codes of authenticator apps (TOTP, RFC 6238): SHA-1, six digits, 30 seconds, as all apps support them.
enum Authenticator {
    static let digits = 6
    static let period: Int64 = 30
    static let secretBytes = 20
    /// How many periods before and after the present one have good codes: clocks differ.
    static let adjacentPeriods: Int64 = 1

    /// - Parameters:
    ///   - lastPeriod: the period of the last code that was accepted: a code is good once.
    ///   - now: Seconds since 1970.
    /// - Returns: the period of the code; nil if the code is wrong.
    static func period(of code: String, secret: [UInt8], after lastPeriod: Int64, now: Int64) -> Int64? {
        let current = now / period
        let periods = current - adjacentPeriods...current + adjacentPeriods
        return periods.first { $0 > lastPeriod && self.code(secret, in: $0) == code }
    }

    static func code(_ secret: [UInt8], in period: Int64) -> String {
        let counter = withUnsafeBytes(of: UInt64(clamping: period).bigEndian) { Array($0) }
        let mac = Array(HMAC<Insecure.SHA1>.authenticationCode(for: counter, using: SymmetricKey(data: secret)))
        let offset = Int(mac[mac.count - 1] & 15)
        let number = mac[offset..<offset + 4].reduce(UInt32(0)) { $0 << 8 | UInt32($1) } & 0x7FFF_FFFF
        let text = String(number % 1_000_000)
        return String(repeating: "0", count: digits - text.utf8.count) + text
    }

    private static let alphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567")

    /// The secret in base 32 (RFC 4648), without padding, as apps take it.
    static func text(of secret: [UInt8]) -> String {
        var (text, bits, count) = ("", UInt32(0), 0)
        for byte in secret {
            bits = bits << 8 | UInt32(byte)
            count += 8
            while count >= 5 {
                count -= 5
                text.append(alphabet[Int(bits >> UInt32(count) & 31)])
            }
        }
        if count > 0 { text.append(alphabet[Int(bits << UInt32(5 - count) & 31)]) }
        return text
    }

    /// Reads a secret.
    ///
    /// - Returns: nil if the text isn't base 32, or the secret has an unusual length.
    static func secret(in text: String) -> [UInt8]? {
        var (secret, bits, count) = ([UInt8](), UInt32(0), 0)
        for character in text where character != "=" {
            guard let value = alphabet.firstIndex(of: character) else { return nil }
            bits = bits << 5 | UInt32(value)
            count += 5
            if count >= 8 {
                count -= 8
                secret.append(UInt8(truncatingIfNeeded: bits >> UInt32(count)))
            }
        }
        return (10...64).contains(secret.count) ? secret : nil
    }
}
