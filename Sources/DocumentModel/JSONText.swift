/// A JSON text being written, without spaces.
package struct JSONText: Sendable {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// Bytes that are JSON already: brackets, commas, constants.
    package mutating func raw(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    package mutating func integer(_ value: Int) { bytes.append(contentsOf: String(value).utf8) }

    /// - Precondition: `value` is finite; JSON has no other numbers.
    package mutating func double(_ value: Double) { bytes.append(contentsOf: value.description.utf8) }

    package mutating func string(_ string: String) {
        bytes.append(UInt8(ascii: "\""))
        for byte in string.utf8 {
            switch byte {
            case UInt8(ascii: "\""): raw("\\\"")
            case UInt8(ascii: "\\"): raw("\\\\")
            case 0x0A: raw("\\n")
            case 0x0D: raw("\\r")
            case 0x09: raw("\\t")
            case 0..<0x20:
                raw("\\u00")
                for digit in [byte >> 4, byte & 15] {
                    bytes.append(digit < 10 ? 48 + digit : 87 + digit)
                }
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    /// Bytes as a text in standard base64, as protobuf's JSON has them.
    package mutating func base64(_ data: [UInt8]) {
        bytes.append(UInt8(ascii: "\""))
        for start in stride(from: 0, to: data.count, by: 3) {
            let group = data[start..<min(start + 3, data.count)]
            let bits = group.reduce(UInt32(0)) { $0 << 8 | UInt32($1) } << UInt32(8 * (3 - group.count))
            for position in 0..<4 {
                bytes.append(
                    position <= group.count
                        ? Self.base64Digits[Int(bits >> UInt32(18 - 6 * position) & 63)] : UInt8(ascii: "="))
            }
        }
        bytes.append(UInt8(ascii: "\""))
    }

    private static let base64Digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".utf8)

    package mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Each element by `write`, with commas between.
    package mutating func list<Element>(_ elements: some Sequence<Element>, _ write: (inout JSONText, Element) -> Void)
    {
        var isFirst = true
        for element in elements {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(&self, element)
        }
    }

    /// An array, each element by `write`.
    package mutating func array<Element>(_ elements: some Sequence<Element>, _ write: (inout JSONText, Element) -> Void)
    {
        raw("[")
        list(elements, write)
        raw("]")
    }
}
