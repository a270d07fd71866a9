/// Percent-encoded text of URLs (RFC 3986).
package enum PercentEncoding {
    /// The decoded text; nil if a `%` isn't followed by two hexadecimal digits, if the bytes aren't UTF-8, or if they
    /// have too many ``CombiningMarks``.
    ///
    /// - Parameter plusIsSpace: Whether `+` stands for a space, as in forms and query parameters.
    package static func decoded(_ text: some StringProtocol, plusIsSpace: Bool = false) -> String? {
        decoded(bytes: text.utf8, plusIsSpace: plusIsSpace)
    }

    /// The decoded text of bytes; nil as for text.
    package static func decoded(bytes text: some Collection<UInt8>, plusIsSpace: Bool = false) -> String? {
        // Tokens come this way, with each request: one by one, the bytes of any collection take long.
        text.withContiguousStorageIfAvailable { decoded($0, plusIsSpace: plusIsSpace) }
            ?? Array(text).withUnsafeBufferPointer { decoded($0, plusIsSpace: plusIsSpace) }
    }

    private static func decoded(_ text: UnsafeBufferPointer<UInt8>, plusIsSpace: Bool) -> String? {
        guard text.contains(where: { $0 == UInt8(ascii: "%") || plusIsSpace && $0 == UInt8(ascii: "+") }) else {
            return self.text(UnsafeRawBufferPointer(text))
        }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var iterator = text.makeIterator()
        while let byte = iterator.next() {
            switch byte {
            case UInt8(ascii: "%"):
                guard let high = iterator.next().flatMap(Hexadecimal.value),
                    let low = iterator.next().flatMap(Hexadecimal.value)
                else { return nil }
                bytes.append(high << 4 | low)
            case UInt8(ascii: "+") where plusIsSpace: bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return bytes.withUnsafeBytes { self.text($0) }
    }

    private static func text(_ bytes: UnsafeRawBufferPointer) -> String? {
        CombiningMarks.areFew(in: bytes) ? String(validating: bytes, as: UTF8.self) : nil
    }

    /// The decoded text of a form's name or value, where a plus sign is a space. A `%` that begins no percent-encoding is
    /// kept, and invalid UTF-8 is replaced.
    package static func repaired(_ text: some Collection<UInt8>) -> String {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var rest = text[...]
        while let byte = rest.popFirst() {
            switch byte {
            case UInt8(ascii: "%"):
                let digits = rest.prefix(2).compactMap(Hexadecimal.value)
                guard digits.count == 2 else {
                    bytes.append(byte)
                    continue
                }
                rest = rest.dropFirst(2)
                bytes.append(digits[0] << 4 | digits[1])
            case UInt8(ascii: "+"): bytes.append(UInt8(ascii: " "))
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The text as a value in a URL's query, or as a path, whose slashes stay.
    package static func encoded(_ text: String) -> String {
        var encoded: [UInt8] = []
        encoded.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case 48...57, 65...90, 97...122, UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "_"), UInt8(ascii: "/"):
                encoded.append(byte)
            default:
                encoded.append(UInt8(ascii: "%"))
                encoded.append(Hexadecimal.uppercaseDigit(byte >> 4))
                encoded.append(Hexadecimal.uppercaseDigit(byte & 15))
            }
        }
        return String(decoding: encoded, as: UTF8.self)
    }
}
