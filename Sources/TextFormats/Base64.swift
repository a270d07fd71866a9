/// Bytes as text in base64 (RFC 4648).
package enum Base64 {
    /// The text in the standard alphabet, padded.
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        encode(bytes, alphabet: standardAlphabet, isPadded: true)
    }

    /// The text in the alphabet for URLs, padded, which ``Base64URL`` isn't.
    package static func encodePaddedForURL(_ bytes: some Collection<UInt8>) -> String {
        encode(bytes, alphabet: urlAlphabet, isPadded: true)
    }

    /// The bytes of a padded text in the standard alphabet; nil for any other text.
    package static func decode(_ text: some StringProtocol) -> [UInt8]? {
        decode(text.utf8, standardValues, padding: .required)
    }

    /// The bytes of a text in either alphabet, padded or not, as in protobuf's JSON; nil for any other text.
    package static func decodeAnyAlphabet(_ text: some StringProtocol) -> [UInt8]? {
        decode(text.utf8, anyValues, padding: .optional)
    }

    // MARK: Encoding

    private static let standardAlphabet = Array(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)
    fileprivate static let urlAlphabet = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_".utf8)

    fileprivate static func encode(_ bytes: some Collection<UInt8>, alphabet: [UInt8], isPadded: Bool) -> String {
        let encoded = bytes.withContiguousStorageIfAvailable {
            encode(UnsafeRawBufferPointer($0), alphabet: alphabet, isPadded: isPadded)
        }
        return encoded
            ?? Array(bytes).withUnsafeBytes { encode($0, alphabet: alphabet, isPadded: isPadded) }
    }

    private static func encode(_ bytes: UnsafeRawBufferPointer, alphabet: [UInt8], isPadded: Bool) -> String {
        let (groups, rest) = bytes.count.quotientAndRemainder(dividingBy: 3)
        let tail = rest == 0 ? 0 : isPadded ? 4 : rest + 1
        return String(unsafeUninitializedCapacity: groups * 4 + tail) { text in
            alphabet.withUnsafeBufferPointer { alphabet in
                for group in 0..<groups {
                    let bits =
                        Int(bytes[group * 3]) << 16 | Int(bytes[group * 3 + 1]) << 8 | Int(bytes[group * 3 + 2])
                    text[group * 4] = alphabet[bits >> 18]
                    text[group * 4 + 1] = alphabet[bits >> 12 & 63]
                    text[group * 4 + 2] = alphabet[bits >> 6 & 63]
                    text[group * 4 + 3] = alphabet[bits & 63]
                }
                guard rest > 0 else { return }
                let bits = Int(bytes[groups * 3]) << 16 | (rest == 2 ? Int(bytes[groups * 3 + 1]) << 8 : 0)
                for place in 0..<tail {
                    text[groups * 4 + place] =
                        place <= rest ? alphabet[bits >> (18 - 6 * place) & 63] : UInt8(ascii: "=")
                }
            }
            return groups * 4 + tail
        }
    }

    // MARK: Decoding

    fileprivate enum Padding {
        /// No padding, and no nonzero bits after the last byte.
        case none
        case optional
        case required
    }

    /// Values by character; 0xFF for a character that isn't in the alphabet.
    private static func values(_ alphabets: [UInt8]...) -> [UInt8] {
        var values = [UInt8](repeating: 0xFF, count: 256)
        for alphabet in alphabets {
            for (value, character) in alphabet.enumerated() { values[Int(character)] = UInt8(value) }
        }
        return values
    }

    private static let standardValues = values(standardAlphabet)
    fileprivate static let urlValues = values(urlAlphabet)
    private static let anyValues = values(standardAlphabet, urlAlphabet)

    fileprivate static func decode(_ text: some Collection<UInt8>, _ values: [UInt8], padding: Padding) -> [UInt8]? {
        let decoded = text.withContiguousStorageIfAvailable {
            decode(UnsafeRawBufferPointer($0), values, padding: padding)
        }
        return decoded ?? Array(text).withUnsafeBytes { decode($0, values, padding: padding) }
    }

    private static func decode(_ text: UnsafeRawBufferPointer, _ values: [UInt8], padding: Padding) -> [UInt8]? {
        var count = text.count
        if padding != .none, count % 4 == 0, count > 0, text[count - 1] == UInt8(ascii: "=") {
            count -= text[count - 2] == UInt8(ascii: "=") ? 2 : 1
        } else if padding == .required, count % 4 != 0 {
            return nil
        }
        let (groups, rest) = count.quotientAndRemainder(dividingBy: 4)
        guard rest != 1 else { return nil }
        let size = groups * 3 + max(0, rest - 1)
        var isValid = true
        let bytes = [UInt8](unsafeUninitializedCapacity: size) { bytes, written in
            values.withUnsafeBufferPointer { values in
                // A character outside of the alphabet sets the high bits of `seen`.
                var seen: UInt8 = 0
                func value(_ place: Int) -> Int {
                    let value = values[Int(text[place])]
                    seen |= value
                    return Int(value)
                }
                for group in 0..<groups {
                    let place = group * 4
                    let bits = value(place) << 18 | value(place + 1) << 12 | value(place + 2) << 6 | value(place + 3)
                    bytes[group * 3] = UInt8(truncatingIfNeeded: bits >> 16)
                    bytes[group * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8)
                    bytes[group * 3 + 2] = UInt8(truncatingIfNeeded: bits)
                }
                if rest > 0 {
                    let place = groups * 4
                    var bits = value(place) << 18 | value(place + 1) << 12
                    if rest == 3 { bits |= value(place + 2) << 6 }
                    bytes[groups * 3] = UInt8(truncatingIfNeeded: bits >> 16)
                    if rest == 3 { bytes[groups * 3 + 1] = UInt8(truncatingIfNeeded: bits >> 8) }
                    if padding == .none, bits & (rest == 3 ? 0xFF : 0xFFFF) != 0 { isValid = false }
                }
                if seen & 0xC0 != 0 { isValid = false }
            }
            written = size
        }
        return isValid ? bytes : nil
    }
}

/// Bytes as text in base64 with the URL's alphabet and without padding, as in tokens (RFC 4648, section 5).
package enum Base64URL {
    package static func encode(_ bytes: some Collection<UInt8>) -> String {
        Base64.encode(bytes, alphabet: Base64.urlAlphabet, isPadded: false)
    }

    /// The bytes of a text; nil if it isn't the canonical text for them.
    ///
    /// Padding, the other alphabet and nonzero trailing bits are refused, so that a token has exactly one text.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        Base64.decode(text, Base64.urlValues, padding: .none)
    }
}
