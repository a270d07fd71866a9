extension JSONParser {
    /// Reads a number: exact where it is whole and fits 64 bits, else the nearest double.
    mutating func number() throws(JSONError) -> JSONValue {
        let start = position
        let negative = bytes[position] == UInt8(ascii: "-")
        if negative { position += 1 }
        var digits = Digits()
        let leading = position
        scanDigits(into: &digits)
        guard position > leading else { throw error("a number has no digits") }
        guard bytes[leading] != UInt8(ascii: "0") || position == leading + 1 else {
            throw error("a number begins with 0", at: start)
        }

        var exponent = 0
        var whole = true
        if position < bytes.count, bytes[position] == UInt8(ascii: ".") {
            whole = false
            position += 1
            let fraction = position
            scanDigits(into: &digits)
            guard position > fraction else { throw error("a number has no digits after its point") }
            exponent -= position - fraction
        }
        if position < bytes.count, bytes[position] | 0x20 == UInt8(ascii: "e") {
            whole = false
            exponent += try scanExponent()
        }

        if whole, !digits.overflows {
            if !negative {
                return Int64(exactly: digits.value).map { .integer($0) } ?? .unsigned(digits.value)
            }
            if digits.value == 0 { return .double(-0.0) }
            if digits.value <= UInt64(Int64.max) + 1 { return .integer(Int64(truncatingIfNeeded: 0 &- digits.value)) }
        }
        return .double(try double(digits, exponent: exponent, negative: negative, from: start))
    }

    private struct Digits {
        var value: UInt64 = 0
        var overflows = false

        mutating func append(_ digit: UInt8) {
            let (product, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let (sum, carried) = product.addingReportingOverflow(UInt64(digit))
            value = sum
            overflows = overflows || tooLarge || carried
        }
    }

    private mutating func scanDigits(into digits: inout Digits) {
        while position < bytes.count {
            let digit = bytes[position] &- UInt8(ascii: "0")
            guard digit < 10 else { return }
            digits.append(digit)
            position += 1
        }
    }

    private mutating func scanExponent() throws(JSONError) -> Int {
        position += 1
        var negative = false
        if position < bytes.count, bytes[position] == UInt8(ascii: "-") || bytes[position] == UInt8(ascii: "+") {
            negative = bytes[position] == UInt8(ascii: "-")
            position += 1
        }
        let first = position
        var exponent = 0
        while position < bytes.count {
            let digit = bytes[position] &- UInt8(ascii: "0")
            guard digit < 10 else { break }
            // Beyond any double's; kept small so that it can't overflow.
            if exponent < 100_000 { exponent = exponent * 10 + Int(digit) }
            position += 1
        }
        guard position > first else { throw error("a number has no digits in its exponent") }
        return negative ? -exponent : exponent
    }

    private func double(
        _ digits: Digits, exponent: Int, negative: Bool, from start: Int
    ) throws(JSONError) -> Double {
        // Both the digits and the power of ten are exact as doubles, so one operation rounds correctly.
        if !digits.overflows, digits.value <= 1 << 53, abs(exponent) < Self.powersOfTen.count {
            let power = Self.powersOfTen[abs(exponent)]
            let value = exponent < 0 ? Double(digits.value) / power : Double(digits.value) * power
            return negative ? -value : value
        }
        let text = String(decoding: UnsafeBufferPointer(rebasing: bytes[start..<position]), as: UTF8.self)
        guard let value = Double(text), value.isFinite else { throw error("a number is too large", at: start) }
        return value
    }

    private static let powersOfTen: [Double] = [
        1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19,
        1e20, 1e21, 1e22,
    ]
}
