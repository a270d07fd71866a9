/// Bytes and numbers as hexadecimal digits.
package enum Hexadecimal {
    /// Two lowercase digits a byte.
    package static func encode(_ bytes: some Sequence<UInt8>) -> String {
        var digits: [UInt8] = []
        digits.reserveCapacity(bytes.underestimatedCount * 2)
        for byte in bytes {
            digits.append(lowercaseDigit(byte >> 4))
            digits.append(lowercaseDigit(byte & 15))
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// All lowercase digits of a number, leading zeros included.
    package static func encode(_ number: some FixedWidthInteger & UnsignedInteger) -> String {
        let digits = stride(from: number.bitWidth - 4, through: 0, by: -4).map { shift in
            lowercaseDigit(UInt8(truncatingIfNeeded: number >> shift) & 15)
        }
        return String(decoding: digits, as: UTF8.self)
    }

    /// The value of a digit in either case; nil for another character.
    package static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 48...57: digit - 48
        case 65...70: digit - 55
        case 97...102: digit - 87
        default: nil
        }
    }

    private static func lowercaseDigit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 87 + value }

    static func uppercaseDigit(_ value: UInt8) -> UInt8 { value < 10 ? 48 + value : 55 + value }
}
