extension JSONWriter {
    /// Escapes what ends a line for many readers, though JSON has it in strings as it is: next line (U+0085), and the
    /// separators of lines (U+2028) and paragraphs (U+2029).
    ///
    /// Call it on whole JSON: the characters stand in strings only.
    package mutating func escapeLineEnds() {
        let text = bytes
        text.withUnsafeBytes { text in
            var written = 0
            while let end = Self.nextLineEnd(in: text, from: written) {
                if written == 0 { bytes = [] }
                bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[written..<end.range.lowerBound]))
                raw(end.escape)
                written = end.range.upperBound
            }
            guard written > 0 else { return }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: text[written...]))
        }
    }

    private static func nextLineEnd(
        in text: UnsafeRawBufferPointer, from start: Int
    ) -> (range: Range<Int>, escape: StaticString)? {
        var position = start
        while position < text.count {
            let left = text.count - position
            if left >= 8,
                text.loadUnaligned(fromByteOffset: position, as: UInt64.self) & 0x8080_8080_8080_8080 == 0
            {
                position += 8
                continue
            }
            switch text[position] {
            case 0xC2 where left >= 2 && text[position + 1] == 0x85:
                return (position..<position + 2, "\\u0085")
            case 0xE2 where left >= 3 && text[position + 1] == 0x80 && text[position + 2] | 1 == 0xA9:
                return (position..<position + 3, text[position + 2] == 0xA8 ? "\\u2028" : "\\u2029")
            default: position += 1
            }
        }
        return nil
    }
}
