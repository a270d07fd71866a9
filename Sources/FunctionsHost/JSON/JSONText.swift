/// A JSON text being written, without spaces.
struct JSONText {
    private(set) var bytes: [UInt8] = []

    /// Bytes that are JSON already: brackets, commas, constants.
    mutating func raw(_ text: StaticString) {
        bytes.append(contentsOf: UnsafeBufferPointer(start: text.utf8Start, count: text.utf8CodeUnitCount))
    }

    mutating func integer(_ value: Int) { bytes.append(contentsOf: String(value).utf8) }

    /// - Precondition: `value` is finite; JSON has no other numbers.
    mutating func double(_ value: Double) { bytes.append(contentsOf: value.description.utf8) }

    mutating func string(_ string: String) {
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

    mutating func key(_ key: String) {
        string(key)
        bytes.append(UInt8(ascii: ":"))
    }

    /// Each element by `write`, with commas between.
    mutating func list<Element>(_ elements: some Sequence<Element>, _ write: (inout JSONText, Element) -> Void) {
        var isFirst = true
        for element in elements {
            if !isFirst { bytes.append(UInt8(ascii: ",")) }
            isFirst = false
            write(&self, element)
        }
    }

    /// An array, each element by `write`.
    mutating func array<Element>(_ elements: some Sequence<Element>, _ write: (inout JSONText, Element) -> Void) {
        raw("[")
        list(elements, write)
        raw("]")
    }
}
