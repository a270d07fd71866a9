/// The text of a rules file, with what is needed to name places in it.
package struct SourceText: Sendable {
    package let bytes: [UInt8]
    /// The offset of the first byte of each line.
    private let lines: [Int]
    /// The number of characters before each block of bytes: a file may be one long line.
    private let charactersBefore: [Int]

    private static let blockSize = 256

    package init(_ text: String) {
        bytes = Array(text.utf8)
        var lines = [0]
        var charactersBefore: [Int] = []
        var characters = 0
        for (offset, byte) in bytes.enumerated() {
            if offset % Self.blockSize == 0 { charactersBefore.append(characters) }
            // Bytes that continue a character in UTF-8 aren't counted.
            if byte & 0xC0 != 0x80 { characters += 1 }
            if byte == UInt8(ascii: "\n") { lines.append(offset + 1) }
        }
        self.lines = lines
        self.charactersBefore = charactersBefore
    }

    /// The number of characters before a byte.
    private func characters(before offset: Int) -> Int {
        guard !charactersBefore.isEmpty else { return 0 }
        let block = min(offset / Self.blockSize, charactersBefore.count - 1)
        return charactersBefore[block] + bytes[block * Self.blockSize..<offset].count { $0 & 0xC0 != 0x80 }
    }

    /// The line and the column of a byte, both from 1. Columns count characters, as editors do.
    package func position(of offset: Int) -> SourcePosition {
        var (low, high) = (0, lines.count)
        while high - low > 1 {
            let middle = (low + high) / 2
            if lines[middle] <= offset { low = middle } else { high = middle }
        }
        let end = max(lines[low], min(offset, bytes.count))
        let column = characters(before: end) - characters(before: lines[low])
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
