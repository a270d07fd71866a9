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
    package mutating func number() throws(JSONSyntaxError) -> JSONNumber {
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
            throw JSONSyntaxError(.numberTooLarge, offset: start)
        }
        return .double(value)
    }

    /// Skips a number. One beyond a double's range is valid JSON; only reading it fails.
    package mutating func skipNumber() throws(JSONSyntaxError) { _ = try numberToken(withDigits: false) }

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
    private mutating func numberToken(withDigits: Bool) throws(JSONSyntaxError) -> NumberToken {
        let start = position
        var token = NumberToken()
        token.isNegative = take(UInt8(ascii: "-"))
        let leading = position
        digits(&token, withDigits)
        guard position > leading else {
            throw JSONSyntaxError(.numberWithoutDigits, offset: start, position: position)
        }
        guard bytes[leading] != UInt8(ascii: "0") || position == leading + 1 else {
            throw JSONSyntaxError(.numberWithLeadingZero, offset: start)
        }
        guard position < bytes.count else { return token }
        if bytes[position] == UInt8(ascii: ".") {
            position += 1
            token.isWhole = false
            let fraction = position
            digits(&token, withDigits)
            guard position > fraction else {
                throw JSONSyntaxError(.numberWithoutFraction, offset: start, position: position)
            }
            token.exponent = fraction - position
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            token.isWhole = false
            token.exponent += try exponent(from: start)
        }
        return token
    }

    @inline(__always)
    private mutating func digits(_ token: inout NumberToken, _ withDigits: Bool) {
        var place = position
        var digits = token.digits
        while place < bytes.count {
            let digit = bytes[place] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            if withDigits { digits = digits &* 10 &+ UInt64(digit) }
            place += 1
        }
        token.digits = digits
        token.digitCount += place - position
        position = place
    }

    private mutating func exponent(from start: Int) throws(JSONSyntaxError) -> Int {
        position += 1
        let isNegative = take(UInt8(ascii: "-"))
        if !isNegative { _ = take(UInt8(ascii: "+")) }
        let first = position
        var exponent = 0
        while position < bytes.count {
            let digit = bytes[position] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            // Larger than any double's exponent, and small enough not to overflow.
            if exponent < 100_000 { exponent = exponent * 10 + Int(digit) }
            position += 1
        }
        guard position > first else {
            throw JSONSyntaxError(.numberWithoutExponent, offset: start, position: position)
        }
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
