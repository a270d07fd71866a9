import TextFormats

extension JSONScanner {
    /// The kind of characters in a string.
    package enum StringContent {
        /// Without escapes.
        case literal
        case escaped
    }

    /// Reads a key or a string. An escaped surrogate without its other half is read as U+FFFD.
    ///
    /// - Precondition: the next byte is the opening quote.
    package mutating func string() throws(JSONError) -> String {
        let start = position
        let content = try skipString()
        return try text(of: UnsafeRawBufferPointer(rebasing: bytes[start + 1..<position - 1]), content, at: start)
    }

    /// Reads a key or a string that is kept as it is: an escaped surrogate without its other half is refused.
    ///
    /// - Precondition: the next byte is the opening quote.
    package mutating func pairedString() throws(JSONError) -> String {
        let start = position
        let content = try skipString()
        let text = UnsafeRawBufferPointer(rebasing: bytes[start + 1..<position - 1])
        guard content == .literal || !Self.hasHalfPair(text) else { throw JSONError(.halfSurrogatePair, at: start) }
        return try self.text(of: text, content, at: start)
    }

    /// What a string between its quotes says.
    ///
    /// - Parameter start: The offset of the string's quote.
    private func text(
        of text: UnsafeRawBufferPointer, _ content: StringContent, at start: Int
    ) throws(JSONError) -> String {
        // Readers compare it.
        guard content == .escaped else {
            guard CombiningMarks.areFew(in: text) else { throw JSONError(.tooManyMarks, at: start) }
            return String(decoding: text, as: UTF8.self)
        }
        let unescaped = Self.unescaped(text)
        guard CombiningMarks.areFew(in: unescaped) else { throw JSONError(.tooManyMarks, at: start) }
        return unescaped
    }

    /// Whether a string with escapes, which ``skipString()`` has validated, has half of a surrogate pair.
    private static func hasHalfPair(_ text: UnsafeRawBufferPointer) -> Bool {
        var place = 0
        while place < text.count {
            guard text[place] == UInt8(ascii: "\\") else {
                place += 1
                continue
            }
            let isUnit = text[place + 1] == UInt8(ascii: "u")
            place += 2
            if isUnit, scalar(in: text, &place) == nil { return true }
        }
        return false
    }

    /// Validates and skips a string.
    ///
    /// - Precondition: the next byte is the opening quote.
    @discardableResult
    package mutating func skipString() throws(JSONError) -> StringContent {
        let start = position
        position += 1
        var content = StringContent.literal
        while true {
            skipPlain()
            guard position < bytes.count else { throw JSONError(.unclosedString, at: start) }
            let byte = bytes[position]
            switch byte {
            case UInt8(ascii: "\""):
                position += 1
                return content
            case UInt8(ascii: "\\"):
                content = .escaped
                try skipEscapes(in: start)
            case 0..<0x20: throw JSONError(.controlCharacter, at: position)
            default: guard skipBeyondASCII() else { throw JSONError(.invalidUTF8, at: start) }
            }
        }
    }

    @inline(__always)
    private static func isPlain(_ byte: UInt8) -> Bool {
        byte >= 0x20 && byte < 0x80 && byte != UInt8(ascii: "\"") && byte != UInt8(ascii: "\\")
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
        while position < bytes.count, Self.isPlain(bytes[position]) { position += 1 }
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

    /// Skips escapes that are close together, with the plain characters between them.
    ///
    /// - Parameter start: The offset of the string's quote.
    @inline(__always)
    private mutating func skipEscapes(in start: Int) throws(JSONError) {
        var place = position
        repeat {
            guard bytes.count - place >= 2 else { throw JSONError(.unclosedString, at: start) }
            let escape = bytes[place + 1]
            if Self.isSimpleEscape(escape) {
                place += 2
            } else if escape == UInt8(ascii: "u") {
                guard areHexDigits(at: place + 2) else { throw JSONError(.invalidHexEscape, at: place) }
                place += 6
            } else {
                throw JSONError(.unknownEscape, at: place)
            }
            let near = min(place + 8, bytes.count)
            while place < near, Self.isPlain(bytes[place]) { place += 1 }
        } while place < bytes.count && bytes[place] == UInt8(ascii: "\\")
        position = place
    }

    /// Whether four hexadecimal digits follow.
    @inline(__always)
    private func areHexDigits(at offset: Int) -> Bool {
        guard bytes.count - offset >= 4 else { return false }
        let digits = UInt32(littleEndian: bytes.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        let highs: UInt32 = 0x8080_8080
        guard digits & highs == 0 else { return false }
        let letters = digits | 0x2020_2020
        // Each sum has the high bit of a byte that is at least "0", above "9", at least "a", above "f".
        let areDecimal = (digits &+ 0x5050_5050) & ~(digits &+ 0x4646_4646)
        let areLetters = (letters &+ 0x1F1F_1F1F) & ~(letters &+ 0x1919_1919)
        return (areDecimal | areLetters) & highs == highs
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

    /// The characters of a string with escapes, which ``skipString()`` has validated.
    static func unescaped(_ text: UnsafeRawBufferPointer) -> String {
        // An escape is never shorter than the character it represents.
        String(unsafeUninitializedCapacity: text.count) { buffer in
            var (read, written) = (0, 0)
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
                        let character = scalar(in: text, &read) ?? "\u{FFFD}"
                        for byte in UTF8.encode(character) ?? UTF8.encodedReplacementCharacter {
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

    /// The character of a `\u` escape, or of two that are a surrogate pair; nil for half of a pair.
    ///
    /// - Parameter position: The offset of the first escape's digits. It ends after the digits that were read.
    private static func scalar(in text: UnsafeRawBufferPointer, _ position: inout Int) -> Unicode.Scalar? {
        func unit(at offset: Int) -> UInt32 { (0..<4).reduce(0) { $0 << 4 | hexValue(text[offset + $1]) } }
        let high = unit(at: position)
        position += 4
        guard high & 0xFC00 == 0xD800, text.count - position >= 6, text[position] == UInt8(ascii: "\\"),
            text[position + 1] == UInt8(ascii: "u")
        else { return Unicode.Scalar(high) }
        let low = unit(at: position + 2)
        guard low & 0xFC00 == 0xDC00 else { return nil }
        position += 6
        return Unicode.Scalar(0x10000 + (high - 0xD800) << 10 + (low - 0xDC00))
    }

    /// The value of a valid hexadecimal digit.
    @inline(__always)
    private static func hexValue(_ digit: UInt8) -> UInt32 {
        UInt32(digit < UInt8(ascii: "A") ? digit &- UInt8(ascii: "0") : (digit | 0x20) &- 0x57)
    }
}
