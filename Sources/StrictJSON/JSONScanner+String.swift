extension JSONScanner {
    /// The kind of characters in a string.
    package enum StringContent {
        /// ASCII without escapes.
        case plain
        case beyondASCII
        case escaped
    }

    /// Reads a key or a string.
    ///
    /// - Precondition: the next byte is the opening quote.
    package mutating func string() throws(JSONSyntaxError) -> String {
        let start = position + 1
        let content = try skipString()
        let text = UnsafeRawBufferPointer(rebasing: bytes[start..<position - 1])
        guard content == .escaped else { return String(decoding: text, as: UTF8.self) }
        return Self.unescaped(text)
    }

    /// Validates and skips a string.
    ///
    /// - Precondition: the next byte is the opening quote.
    @discardableResult
    package mutating func skipString() throws(JSONSyntaxError) -> StringContent {
        let start = position
        position += 1
        var content = StringContent.plain
        while true {
            skipPlain()
            guard position < bytes.count else {
                throw JSONSyntaxError(.unclosedString, offset: start, position: position)
            }
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return content
            case UInt8(ascii: "\\"):
                content = .escaped
                try skipEscapes()
            case 0..<0x20: throw JSONSyntaxError(.controlCharacter, offset: position)
            default:
                if content == .plain { content = .beyondASCII }
                guard skipBeyondASCII() else { throw JSONSyntaxError(.invalidUTF8, offset: start, position: start + 1) }
            }
        }
    }

    /// Skips unescaped ASCII characters, eight at a time.
    @inline(__always)
    private mutating func skipPlain() {
        let ones: UInt64 = 0x0101_0101_0101_0101
        let highs: UInt64 = 0x8080_8080_8080_8080
        while bytes.count - position >= 8 {
            let word = UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: position, as: UInt64.self))
            let quotes = word ^ (ones &* 0x22)
            let backslashes = word ^ (ones &* 0x5C)
            // Each term sets the high bit of a byte that ends the run. Borrows only affect bytes above the first one.
            let stops =
                ((quotes &- ones) & ~quotes | (backslashes &- ones) & ~backslashes | (word &- ones &* 0x20) & ~word
                    | word) & highs
            if stops != 0 {
                position += stops.trailingZeroBitCount >> 3
                return
            }
            position += 8
        }
        while position < bytes.count {
            let byte = bytes[position]
            guard byte >= 0x20, byte < 0x80, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") else { return }
            position += 1
        }
    }

    /// Skips characters of two to four bytes.
    ///
    /// - Returns: False if they aren't well-formed UTF-8 (Unicode 16, table 3-7).
    private mutating func skipBeyondASCII() -> Bool {
        func isTrailing(_ offset: Int) -> Bool { bytes[position + offset] & 0xC0 == 0x80 }
        while position < bytes.count {
            let first = bytes[position]
            guard first >= 0x80 else { return true }
            let left = bytes.count - position
            switch first {
            case 0xC2...0xDF:
                guard left >= 2, isTrailing(1) else { return false }
                position += 2
            case 0xE0...0xEF:
                guard left >= 3, isTrailing(1), isTrailing(2) else { return false }
                let second = bytes[position + 1]
                guard first != 0xE0 || second >= 0xA0, first != 0xED || second < 0xA0 else { return false }
                position += 3
            case 0xF0...0xF4:
                guard left >= 4, isTrailing(1), isTrailing(2), isTrailing(3) else { return false }
                let second = bytes[position + 1]
                guard first != 0xF0 || second >= 0x90, first != 0xF4 || second < 0x90 else { return false }
                position += 4
            default: return false
            }
        }
        return true
    }

    /// Skips escapes that follow each other.
    @inline(__always)
    private mutating func skipEscapes() throws(JSONSyntaxError) {
        repeat {
            guard bytes.count - position >= 2 else {
                throw JSONSyntaxError(.unclosedString, offset: position, position: bytes.count)
            }
            let escape = bytes[position + 1]
            if Self.isSimpleEscape(escape) {
                position += 2
            } else if escape == UInt8(ascii: "u"), isPlainCodeUnit(at: position + 2) {
                position += 6
            } else if escape == UInt8(ascii: "u") {
                try skipCodeUnits()
            } else {
                throw JSONSyntaxError(.unknownEscape, offset: position, position: position + 1)
            }
        } while peek() == UInt8(ascii: "\\")
    }

    /// Whether four hexadecimal digits of a character follow, and not of a surrogate.
    @inline(__always)
    private func isPlainCodeUnit(at offset: Int) -> Bool {
        guard bytes.count - offset >= 4 else { return false }
        let digits = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        let highs: UInt32 = 0x8080_8080
        guard digits & highs == 0 else { return false }
        let letters = digits | 0x2020_2020
        // Each sum has the high bit of a byte that is at least "0", above "9", at least "a", above "f".
        let areDecimal = (digits &+ 0x5050_5050) & ~(digits &+ 0x4646_4646)
        let areLetters = (letters &+ 0x1F1F_1F1F) & ~(letters &+ 0x1919_1919)
        guard (areDecimal | areLetters) & highs == highs else { return false }
        return UInt8(truncatingIfNeeded: letters) != UInt8(ascii: "d")
            || UInt8(truncatingIfNeeded: digits >> 8) < UInt8(ascii: "8")
    }

    /// Skips an escaped code unit, or two that are a surrogate pair.
    private mutating func skipCodeUnits() throws(JSONSyntaxError) {
        let start = position
        position += 2
        let unit = try hexDigits(from: start)
        guard unit & 0xF800 == 0xD800 else { return }
        // A leading surrogate must be followed by a trailing one.
        guard unit < 0xDC00, bytes.count - position >= 2, bytes[position] == UInt8(ascii: "\\"),
            bytes[position + 1] == UInt8(ascii: "u")
        else { throw JSONSyntaxError(.loneSurrogate, offset: start) }
        position += 2
        guard try hexDigits(from: start) & 0xFC00 == 0xDC00 else {
            throw JSONSyntaxError(.loneSurrogate, offset: start)
        }
    }

    /// Whether a byte after a backslash is a whole escape.
    @inline(__always)
    private static func isSimpleEscape(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "\""), UInt8(ascii: "\\"), UInt8(ascii: "/"), UInt8(ascii: "b"), UInt8(ascii: "f"),
            UInt8(ascii: "n"), UInt8(ascii: "r"), UInt8(ascii: "t"):
            true
        default: false
        }
    }

    @inline(__always)
    private mutating func hexDigits(from start: Int) throws(JSONSyntaxError) -> UInt16 {
        guard bytes.count - position >= 4 else {
            throw JSONSyntaxError(.invalidHexEscape, offset: start, position: position)
        }
        var unit: UInt16 = 0
        for offset in 0..<4 {
            guard let digit = Self.hexValue(bytes[position + offset]) else {
                throw JSONSyntaxError(.invalidHexEscape, offset: start, position: position + offset)
            }
            unit = unit << 4 | UInt16(digit)
        }
        position += 4
        return unit
    }

    @inline(__always)
    private static func hexValue(_ byte: UInt8) -> UInt8? {
        switch byte {
        case 0x30...0x39: byte - 0x30
        case 0x41...0x46: byte - 0x37
        case 0x61...0x66: byte - 0x57
        default: nil
        }
    }

    /// The characters of a string with escapes, which ``skipString()`` has validated.
    static func unescaped(_ text: UnsafeRawBufferPointer) -> String {
        // An escape is never shorter than the character it represents.
        String(unsafeUninitializedCapacity: text.count) { buffer in
            var (read, written) = (0, 0)
            func unit(at offset: Int) -> UInt32 {
                (0..<4).reduce(0) { $0 << 4 | UInt32(hexValue(text[offset + $1]) ?? 0) }
            }
            while read < text.count {
                var byte = text[read]
                read += 1
                if byte == UInt8(ascii: "\\") {
                    byte = text[read]
                    read += 1
                    switch byte {
                    case UInt8(ascii: "b"): byte = 0x08
                    case UInt8(ascii: "f"): byte = 0x0C
                    case UInt8(ascii: "n"): byte = 0x0A
                    case UInt8(ascii: "r"): byte = 0x0D
                    case UInt8(ascii: "t"): byte = 0x09
                    case UInt8(ascii: "u"):
                        var code = unit(at: read)
                        read += 4
                        if code & 0xF800 == 0xD800 {
                            code = 0x10000 + ((code - 0xD800) << 10) + (unit(at: read + 2) - 0xDC00)
                            read += 6
                        }
                        for byte in UTF8.encode(Unicode.Scalar(code) ?? "\u{FFFD}") ?? UTF8.encodedReplacementCharacter
                        {
                            buffer[written] = byte
                            written += 1
                        }
                        continue
                    default: break
                    }
                }
                buffer[written] = byte
                written += 1
            }
            return written
        }
    }
}
