/// Finds the number of a request in a message that is too large to be kept: `{"t":"d","d":{"r":N,…}}`, with members in any
/// order.
///
/// A pure state machine over the message's bytes. What isn't JSON leads to no number, or to a wrong one of the same client.
struct RequestNumberFinder {
    private(set) var number: Int64?
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// The last string at most two objects deep, as far as is needed to tell it apart.
    private var text: [UInt8] = []
    /// The members that the current value belongs to.
    private var outer: [UInt8] = []
    private var inner: [UInt8] = []
    private var digits: [UInt8] = []

    mutating func scan(_ bytes: some Sequence<UInt8>) {
        guard number == nil else { return }
        for byte in bytes {
            if isInString { inString(byte) } else { outside(byte) }
            if number != nil { return }
        }
    }

    private mutating func inString(_ byte: UInt8) {
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
            return
        }
        if depth <= 2, text.count < 2 { text.append(byte) }
    }

    private mutating func outside(_ byte: UInt8) {
        switch byte {
        case UInt8(ascii: "\""):
            isInString = true
            text.removeAll(keepingCapacity: true)
        case UInt8(ascii: ":") where depth == 1: outer = text
        case UInt8(ascii: ":") where depth == 2: inner = text
        case UInt8(ascii: "0")...UInt8(ascii: "9"):
            if isAtNumber, digits.count < Self.maxDigits { digits.append(byte) }
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            inner = []
        case UInt8(ascii: ","), UInt8(ascii: "}"), UInt8(ascii: "]"):
            if isAtNumber { number = Int64(String(decoding: digits, as: UTF8.self)) }
            if byte != UInt8(ascii: ",") { depth -= 1 }
            inner = []
        default: break
        }
    }

    private var isAtNumber: Bool { depth == 2 && outer == [UInt8(ascii: "d")] && inner == [UInt8(ascii: "r")] }

    private static let maxDigits = 18
}
