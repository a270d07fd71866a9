/// Indents compact JSON, as `print=pretty` asks, while it passes.
///
/// The text may come in several parts.
struct JSONIndenter {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// Whether the last byte outside of strings opened an array or object.
    private var hasJustOpened = false

    mutating func append(_ part: [UInt8], to text: inout [UInt8]) {
        text.reserveCapacity(text.count + part.count * 2)
        for byte in part {
            if isInString {
                text.append(byte)
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                depth -= 1
                if !hasJustOpened { breakLine(&text) }
                hasJustOpened = false
                text.append(byte)
                continue
            default: break
            }
            if hasJustOpened { breakLine(&text) }
            hasJustOpened = false
            switch byte {
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                hasJustOpened = true
                text.append(byte)
            case UInt8(ascii: ","):
                text.append(byte)
                breakLine(&text)
            case UInt8(ascii: ":"): text += " : ".utf8
            case UInt8(ascii: "\""):
                isInString = true
                text.append(byte)
            default: text.append(byte)
            }
        }
    }

    private func breakLine(_ text: inout [UInt8]) {
        text.append(UInt8(ascii: "\n"))
        text.append(contentsOf: repeatElement(UInt8(ascii: " "), count: 2 * depth))
    }
}
