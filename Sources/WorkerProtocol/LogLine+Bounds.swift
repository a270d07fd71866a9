/// What a line of the log may be at most, which both sides hold to.
extension LogLine {
    /// Bytes of each of its texts.
    package static let maxText = 16 * 1024

    /// Bytes of a frame that holds a line.
    package static let maxFrame = 1024 * 1024

    /// Bytes of all keys and values together: with them a frame is well within its bound.
    private static let maxMetadata = 256 * 1024

    private static let mark = "…"

    /// The text; of one that is too long its beginning, and `…`.
    package static func cut(_ text: String) -> String {
        guard text.utf8.count > maxText else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: maxText - mark.utf8.count)
        while end.samePosition(in: text.unicodeScalars) == nil { text.utf8.formIndex(before: &end) }
        return text[..<end] + mark
    }

    /// What is there of a text before its cut; nil where it has none.
    package static func beginning(ofCut text: String) -> Substring.UTF8View? {
        let bytes = text.utf8
        // The last character that fitted may have left up to three bytes free.
        guard (maxText - 3...maxText).contains(bytes.count), bytes.suffix(mark.utf8.count).elementsEqual(mark.utf8)
        else { return nil }
        return bytes.dropLast(mark.utf8.count)
    }

    /// The line with its texts cut, and with as much of its metadata as may be, by the order of keys.
    package var bounded: LogLine {
        var line = LogLine(level: level, label: Self.cut(label), message: Self.cut(message), metadata: [:])
        var bytes = 0
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let (key, value) = (Self.cut(key), Self.cut(value))
            bytes += key.utf8.count + value.utf8.count
            guard bytes <= Self.maxMetadata else { break }
            line.metadata[key] = value
        }
        return line
    }
}
