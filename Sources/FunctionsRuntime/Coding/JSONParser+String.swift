extension JSONParser {
    /// Reads a string from its opening quote on.
    mutating func string() throws(JSONError) -> String {
        position += 1
        let start = position
        var bits: UInt8 = 0
        while position < bytes.count {
            let byte = bytes[position]
            if byte == UInt8(ascii: "\"") {
                let text = UnsafeBufferPointer(rebasing: bytes[start..<position])
                defer { position += 1 }
                // Without a byte beyond ASCII there is nothing to check.
                if bits < 0x80 { return String(decoding: text, as: UTF8.self) }
                return try validated(text, from: start)
            }
            if byte == UInt8(ascii: "\\") { return try escapedString(from: start) }
            guard byte >= 0x20 else { throw error("a string holds a control character that is not escaped") }
            bits |= byte
            position += 1
        }
        throw error("a string is not closed")
    }

    /// Goes on with a string in which an escape was found.
    private mutating func escapedString(from start: Int) throws(JSONError) -> String {
        var text = Array(bytes[start..<position])
        while position < bytes.count {
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return try text.withUnsafeBufferPointer { buffer throws(JSONError) in
                    try validated(buffer, from: start)
                }
            case UInt8(ascii: "\\"):
                position += 1
                try escape(into: &text)
            case ..<0x20: throw error("a string holds a control character that is not escaped")
            default:
                text.append(byte)
                position += 1
            }
        }
        throw error("a string is not closed")
    }

    private func validated(_ text: UnsafeBufferPointer<UInt8>, from start: Int) throws(JSONError) -> String {
        guard let string = String(validating: text, as: UTF8.self) else {
            throw error("a string is not valid UTF-8", at: start)
        }
        return string
    }

    private mutating func escape(into text: inout [UInt8]) throws(JSONError) {
        guard position < bytes.count else { throw error("a string is not closed") }
        let byte = bytes[position]
        position += 1
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"): text.append(byte)
        case UInt8(ascii: "b"): text.append(0x08)
        case UInt8(ascii: "f"): text.append(0x0C)
        case UInt8(ascii: "n"): text.append(0x0A)
        case UInt8(ascii: "r"): text.append(0x0D)
        case UInt8(ascii: "t"): text.append(0x09)
        case UInt8(ascii: "u"):
            let scalar = try escapedScalar()
            text.append(contentsOf: UTF8.encode(scalar) ?? UTF8.encodedReplacementCharacter)
        default: throw error("a string holds an unknown escape", at: position - 1)
        }
    }

    /// Half of a surrogate pair without its other half counts as U+FFFD, as JavaScript sends such texts.
    private mutating func escapedScalar() throws(JSONError) -> Unicode.Scalar {
        let unit = try fourHexDigits()
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) ?? "\u{FFFD}" }
        guard bytes.count - position >= 6, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { return "\u{FFFD}" }
        let before = position
        position += 2
        let trail = try fourHexDigits()
        guard UTF16.isTrailSurrogate(trail) else {
            // What follows is a character of its own.
            position = before
            return "\u{FFFD}"
        }
        let offset = UInt32(unit - 0xD800) << 10 + UInt32(trail - 0xDC00)
        return Unicode.Scalar(0x10000 + offset) ?? "\u{FFFD}"
    }

    private mutating func fourHexDigits() throws(JSONError) -> UInt16 {
        guard bytes.count - position >= 4 else { throw error("\\u takes four hexadecimal digits") }
        var unit: UInt16 = 0
        for _ in 0..<4 {
            let digit: UInt8
            switch bytes[position] {
            case let byte where byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9"): digit = byte - 48
            case let byte where byte >= UInt8(ascii: "a") && byte <= UInt8(ascii: "f"): digit = byte - 87
            case let byte where byte >= UInt8(ascii: "A") && byte <= UInt8(ascii: "F"): digit = byte - 55
            default: throw error("\\u takes four hexadecimal digits")
            }
            unit = unit << 4 | UInt16(digit)
            position += 1
        }
        return unit
    }
}
