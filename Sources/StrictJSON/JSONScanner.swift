import CFunctionsSystem

/// Reads the tokens of JSON texts as RFC 8259 defines them.
///
/// All readers of JSON use it, so they accept the same texts. The text is untrusted: the scanner never reads beyond its
/// end, bounds the nesting, and validates strings as UTF-8. Strings that are read, and not skipped, have a bound of their
/// ``CombiningMarks``. It accepts two things that some clients and editors write:
/// a byte order mark before the text, and `\u` escapes of half a surrogate pair, which are read as U+FFFD, or
/// refused by readers of what is kept.
@usableFromInline
package struct JSONScanner {
    /// The maximum depth of nested arrays and objects. The bound keeps recursive readers from overflowing their stack.
    package static let maxDepth = 512

    @usableFromInline package let bytes: UnsafeRawBufferPointer
    /// The offset of the next byte.
    @usableFromInline package var position = 0

    /// - Parameter bytes: The text, which must stay valid while it is scanned.
    @inlinable
    package init(_ bytes: UnsafeRawBufferPointer) {
        self.bytes = bytes
        if bytes.first == 0xEF { skipByteOrderMark() }
    }

    @usableFromInline
    mutating func skipByteOrderMark() { position = JSONPosition.byteOrderMark(in: bytes) }

    @inlinable
    package var isAtEnd: Bool { position >= bytes.count }

    /// The next byte; nil at the end.
    @inlinable
    package func peek() -> UInt8? { position < bytes.count ? bytes[position] : nil }

    /// Skips a byte if it is the next one.
    @inlinable
    package mutating func take(_ byte: UInt8) -> Bool {
        guard position < bytes.count, bytes[position] == byte else { return false }
        position += 1
        return true
    }

    @inlinable
    @inline(__always)
    package mutating func skipSpace() {
        // Most tokens aren't preceded by white space, and begin with a byte above it.
        if position < bytes.count, bytes[position] <= 0x20 { skipSpaces() }
    }

    @usableFromInline
    mutating func skipSpaces() {
        while position < bytes.count {
            let byte = bytes[position]
            guard byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else { return }
            position += 1
            if position & 0xFF == 0 { functions_step() }
        }
    }

    /// - Throws: `trailingText` if anything but white space is left.
    package mutating func end() throws(JSONError) {
        skipSpace()
        guard isAtEnd else { throw JSONError(.trailingText, at: position) }
    }

    /// Skips `true`, `false` or `null`.
    @inline(__always)
    mutating func word(_ word: StaticString) throws(JSONError) {
        let length = word.utf8CodeUnitCount
        guard bytes.count - position >= length else { throw JSONError(.notAValue, at: position) }
        for offset in 0..<length where bytes[position + offset] != word.utf8Start[offset] {
            throw JSONError(.notAValue, at: position)
        }
        position += length
    }

    /// Skips the colon after a key, and the white space around it.
    @inline(__always)
    mutating func colon() throws(JSONError) {
        skipSpace()
        guard take(UInt8(ascii: ":")) else { throw JSONError(.missingColon, at: position) }
        skipSpace()
    }

    /// Skips an object's key and the colon after it.
    ///
    /// - Returns: Whether the key is `name`, also if it is written with escapes.
    package mutating func isKey(_ name: StaticString) throws(JSONError) -> Bool {
        let start = position
        guard peek() == UInt8(ascii: "\"") else { throw JSONError(.missingKey, at: start) }
        let content = try skipString()
        let key = UnsafeRawBufferPointer(rebasing: bytes[(start + 1)..<(position - 1)])
        try colon()
        let name = UnsafeRawBufferPointer(start: name.utf8Start, count: name.utf8CodeUnitCount)
        switch content {
        case .literal: return key.elementsEqual(name)
        // The longest escapes take six bytes for one.
        case .escaped: return key.count <= name.count * 6 && Self.unescaped(key).utf8.elementsEqual(name)
        }
    }

    /// Skips the brace that closes an object.
    package mutating func endObject() throws(JSONError) {
        guard take(UInt8(ascii: "}")) else { throw JSONError(.missingMemberSeparator, at: position) }
    }
}
