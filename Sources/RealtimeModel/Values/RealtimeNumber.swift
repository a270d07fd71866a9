/// A number of a leaf or a priority.
///
/// Clients send doubles. Integers within Int64's range stay exact, and a number has one form only: 10.0 is the integer
/// 10, and -0 is 0. Equality and order follow the exact values.
package struct RealtimeNumber: Hashable, Sendable {
    private enum Form: Hashable {
        case integer(Int64)
        /// A double that isn't an integer within Int64's range.
        case double(Double)
    }

    private let form: Form

    package init(_ integer: Int64) { form = .integer(integer) }

    /// - Precondition: `double` is finite.
    package init(_ double: Double) {
        precondition(double.isFinite, "JSON has no number for \(double)")
        // Comparing the conversion avoids the C library's `trunc`, which not every executable links.
        if double >= -0x1p63, double < 0x1p63, Double(Int64(double)) == double {
            form = .integer(Int64(double))
        } else {
            form = .double(double)
        }
    }

    /// - Returns: nil if the integer is beyond Int64's range and isn't a double: it would be another number.
    package init?(exactly integer: UInt64) {
        if let integer = Int64(exactly: integer) {
            form = .integer(integer)
        } else {
            // A double has 53 bits.
            guard integer.leadingZeroBitCount + integer.trailingZeroBitCount >= 64 - 53 else { return nil }
            form = .double(Double(integer))
        }
    }

    /// The number as an integer; nil if it has a fraction or is beyond Int64's range.
    package var integer: Int64? {
        guard case .integer(let integer) = form else { return nil }
        return integer
    }

    /// The number as clients know it.
    package var double: Double {
        switch form {
        case .integer(let integer): Double(integer)
        case .double(let double): double
        }
    }

    /// Whether there may be other numbers with the same double.
    package var isLarge: Bool { double.magnitude >= 0x1p53 }

    /// The sum. If integers overflow, it is a double; a sum beyond a double's range is the largest double.
    package static func + (a: RealtimeNumber, b: RealtimeNumber) -> RealtimeNumber {
        if let a = a.integer, let b = b.integer {
            let (sum, overflows) = a.addingReportingOverflow(b)
            if !overflows { return RealtimeNumber(sum) }
        }
        let largest = Double.greatestFiniteMagnitude
        return RealtimeNumber(min(max(a.double + b.double, -largest), largest))
    }

    /// The 16 hexadecimal digits of the double, most significant first: the form in hashes.
    package func appendDigits(to bytes: inout [UInt8]) {
        let pattern = double.bitPattern
        for shift in stride(from: 60, through: 0, by: -4) {
            let digit = UInt8(truncatingIfNeeded: pattern >> UInt64(shift)) & 15
            bytes.append(digit < 10 ? UInt8(ascii: "0") + digit : UInt8(ascii: "a") - 10 + digit)
        }
    }
}

extension RealtimeNumber: Comparable {
    package static func < (a: RealtimeNumber, b: RealtimeNumber) -> Bool { compare(a, b) < 0 }

    /// - Returns: A negative number, 0 or a positive number if `a` sorts before, with or after `b`.
    static func compare(_ a: RealtimeNumber, _ b: RealtimeNumber) -> Int {
        switch (a.form, b.form) {
        case (.integer(let a), .integer(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.double(let a), .double(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.integer(let a), .double(let b)): compare(a, b)
        case (.double(let a), .integer(let b)): -compare(b, a)
        }
    }

    private static func compare(_ integer: Int64, _ double: Double) -> Int {
        if double >= 0x1p63 { return -1 }
        if double < -0x1p63 { return 1 }
        let whole = Int64(double)
        if integer != whole { return integer < whole ? -1 : 1 }
        // The double has a fraction, of which `whole` is without.
        return Double(whole) < double ? -1 : 1
    }
}

extension RealtimeNumber: ExpressibleByIntegerLiteral, ExpressibleByFloatLiteral {
    package init(integerLiteral value: Int64) { self.init(value) }
    package init(floatLiteral value: Double) { self.init(value) }
}

extension RealtimeNumber: CustomStringConvertible {
    package var description: String { integer.map { "\($0)" } ?? "\(double)" }
}
