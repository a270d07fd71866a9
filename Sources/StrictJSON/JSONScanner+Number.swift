/// A parsed number.
package enum JSONNumber: Hashable, Sendable {
    /// A number without fraction and exponent, within Int64's range.
    case integer(Int64)
    /// The same, beyond Int64's range.
    case unsigned(UInt64)
    case double(Double)
}

extension JSONScanner {
    /// The parts of a number. It is valid by the grammar, even if a double can't represent it.
    private struct NumberToken {
        /// The digits before and after the point; valid up to 19 of them.
        var digits: UInt64 = 0
        var digitCount = 0
        var exponent = 0
        var isNegative = false
        var isWhole = true
    }

    /// Reads a number: exactly if it is an integer that fits 64 bits, else as the nearest double.
    ///
    /// - Precondition: the next byte is a digit or a minus sign.
    package mutating func number() throws(JSONError) -> JSONNumber {
        let start = position
        let token = try numberToken(withDigits: true)
        if token.isWhole {
            if let number = Self.integer(token) { return number }
            if token.digitCount == 20, !token.isNegative, let value = UInt64(text(from: start)) {
                return .unsigned(value)
            }
        }
        // Both the digits and the power of ten are exact as doubles, so one operation rounds correctly.
        if token.digitCount <= 19, token.digits <= 1 << 53, abs(token.exponent) < Self.powersOfTen.count {
            let power = Self.powersOfTen[abs(token.exponent)]
            let value = token.exponent < 0 ? Double(token.digits) / power : Double(token.digits) * power
            return .double(token.isNegative ? -value : value)
        }
        guard let value = Double(text(from: start)), value.isFinite else {
            throw JSONError(.numberTooLarge, at: start)
        }
        return .double(value)
    }

    /// Skips a number. One beyond a double's range is valid JSON; only reading it fails.
    package mutating func skipNumber() throws(JSONError) { _ = try numberToken(withDigits: false) }

    private func text(from start: Int) -> String {
        String(decoding: UnsafeRawBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self)
    }

    private static func integer(_ token: NumberToken) -> JSONNumber? {
        guard token.digitCount <= 19 else { return nil }
        if !token.isNegative { return Int64(exactly: token.digits).map { .integer($0) } ?? .unsigned(token.digits) }
        // -0 is a double: as an integer it would lose its sign.
        guard token.digits > 0, token.digits <= UInt64(Int64.max) + 1 else { return nil }
        return .integer(Int64(truncatingIfNeeded: 0 &- token.digits))
    }

    @inline(__always)
    private mutating func numberToken(withDigits: Bool) throws(JSONError) -> NumberToken {
        let start = position
        var token = NumberToken()
        var place = start
        if bytes[place] == UInt8(ascii: "-") {
            token.isNegative = true
            place += 1
        }
        let leading = place
        digits(&token, &place, withDigits)
        guard place > leading else { throw JSONError(.numberWithoutDigits, at: start) }
        guard bytes[leading] != UInt8(ascii: "0") || place == leading + 1 else {
            throw JSONError(.numberWithLeadingZero, at: start)
        }
        if place < bytes.count, bytes[place] == UInt8(ascii: ".") {
            place += 1
            token.isWhole = false
            let fraction = place
            digits(&token, &place, withDigits)
            guard place > fraction else { throw JSONError(.numberWithoutFraction, at: start) }
            token.exponent = fraction - place
        }
        if place < bytes.count, bytes[place] | 0x20 == UInt8(ascii: "e") {
            place += 1
            token.isWhole = false
            let exponent = exponent(&place)
            guard let exponent else { throw JSONError(.numberWithoutExponent, at: start) }
            token.exponent += exponent
        }
        position = place
        return token
    }

    @inline(__always)
    private func digits(_ token: inout NumberToken, _ place: inout Int, _ withDigits: Bool) {
        let first = place
        while place < bytes.count {
            let digit = bytes[place] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            if withDigits { token.digits = token.digits &* 10 &+ UInt64(digit) }
            place += 1
        }
        token.digitCount += place - first
    }

    /// Reads an exponent after its letter; nil if it has no digits.
    @inline(__always)
    private func exponent(_ place: inout Int) -> Int? {
        var isNegative = false
        if place < bytes.count, bytes[place] == UInt8(ascii: "-") || bytes[place] == UInt8(ascii: "+") {
            isNegative = bytes[place] == UInt8(ascii: "-")
            place += 1
        }
        let first = place
        var exponent = 0
        while place < bytes.count {
            let digit = bytes[place] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            // Larger than any double's exponent, and small enough not to overflow.
            if exponent < 100_000 { exponent = exponent &* 10 &+ Int(digit) }
            place += 1
        }
        guard place > first else { return nil }
        return isNegative ? -exponent : exponent
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}

extension Int64 {
    /// The integer that a double is; nil if it has a fraction or doesn't fit.
    ///
    /// Unlike `init(exactly:)` it doesn't need the C library's `trunc`, which not every executable links.
    init?(whole double: Double) {
        guard double >= -0x1p63, double < 0x1p63 else { return nil }
        self.init(double)
        guard Double(self) == double else { return nil }
    }
}
