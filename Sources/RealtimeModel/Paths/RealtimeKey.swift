/// The key of a child: 1 to 768 bytes of UTF-8 without control characters and `. $ # [ ] /`.
///
/// Keys are equal if their bytes are.
package struct RealtimeKey: Sendable {
    package let string: String

    /// - Throws: `invalidKey` with the text.
    package init(_ string: String) throws(RealtimeError) {
        guard Self.isValid(string) else { throw RealtimeError(.invalidKey(string)) }
        self.string = string
    }

    /// A key that is known to be valid, as from storage.
    package init(unchecked string: String) { self.string = string }

    /// The key of an array's element.
    package init(index: Int) { string = String(index) }

    package static func isValid(_ string: String) -> Bool {
        var string = string
        return string.withUTF8 { bytes in
            (1...RealtimeLimits.maxKeyBytes).contains(bytes.count) && bytes.allSatisfy(isAllowed)
        }
    }

    private static func isAllowed(_ byte: UInt8) -> Bool {
        switch byte {
        case 0x00..<0x20, 0x7F, UInt8(ascii: "."), UInt8(ascii: "$"), UInt8(ascii: "#"), UInt8(ascii: "["),
            UInt8(ascii: "]"), UInt8(ascii: "/"):
            false
        default: true
        }
    }

    /// The number of a canonical integer of 0 or more, such as arrays have as keys: `7`, not `07`.
    package var arrayIndex: Int? {
        var string = string
        return string.withUTF8 { digits in
            guard (1...10).contains(digits.count), digits[0] != UInt8(ascii: "-"),
                digits[0] != UInt8(ascii: "0") || digits.count == 1
            else { return nil }
            return RealtimeKeyOrder.number(digits).map { Int($0) }
        }
    }
}

extension RealtimeKey: Hashable {
    package static func == (a: RealtimeKey, b: RealtimeKey) -> Bool { RealtimeText.equal(a.string, b.string) }

    package func hash(into hasher: inout Hasher) { RealtimeText.hash(string, into: &hasher) }
}

extension RealtimeKey: Comparable {
    /// 32-bit integers by number, then by length; then other keys by UTF-16 units.
    package static func < (a: RealtimeKey, b: RealtimeKey) -> Bool { compare(a, b) < 0 }

    /// - Returns: A negative number, 0 or a positive number if `a` sorts before, with or after `b`.
    package static func compare(_ a: RealtimeKey, _ b: RealtimeKey) -> Int {
        RealtimeKeyOrder.compare(a.string, b.string)
    }
}

extension RealtimeKey: CustomStringConvertible {
    package var description: String { string }
}
