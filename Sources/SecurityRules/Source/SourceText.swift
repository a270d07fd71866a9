/// The text of a rules file, with what is needed to name places in it.
package struct SourceText: Sendable {
    package let bytes: [UInt8]
    /// The offset of the first byte of each line.
    private let lines: [Int]

    package init(_ text: String) {
        bytes = Array(text.utf8)
        var lines = [0]
        for (offset, byte) in bytes.enumerated() where byte == UInt8(ascii: "\n") { lines.append(offset + 1) }
        self.lines = lines
    }

    /// The line and the column of a byte, both from 1. Columns count characters, as editors do.
    package func position(of offset: Int) -> SourcePosition {
        var (low, high) = (0, lines.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if lines[middle] <= offset { low = middle } else { high = middle }
        }
        let end = min(offset, bytes.count)
        // Bytes that continue a character in UTF-8 aren't counted.
        let column = bytes[lines[low]..<max(lines[low], end)].count { $0 & 0xC0 != 0x80 }
        return SourcePosition(line: low + 1, column: column + 1)
    }

    package func text(_ range: SourceRange) -> String {
        String(decoding: bytes[range.start..<max(range.start, min(range.end, bytes.count))], as: UTF8.self)
    }
}

/// A place in a rules file. Line and column are counted from 1.
package struct SourcePosition: Hashable, Sendable, Comparable, CustomStringConvertible {
    package var line: Int
    package var column: Int

    package static func < (a: SourcePosition, b: SourcePosition) -> Bool { (a.line, a.column) < (b.line, b.column) }

    package var description: String { "\(line):\(column)" }
}

/// A part of a rules file, in bytes.
package struct SourceRange: Hashable, Sendable {
    package var start: Int
    package var end: Int

    init(_ start: Int, _ end: Int) {
        self.start = start
        self.end = end
    }
}
