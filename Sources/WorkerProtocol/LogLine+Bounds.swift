/// Size limits of a log line, which both sides apply.
extension LogLine {
    /// The maximum size of each string.
    package static let maxText = 16 * 1024

    /// The maximum size of a log frame.
    package static let maxFrame = 1024 * 1024

    /// The maximum total size of keys and values, which keeps the frame well within its limit.
    private static let maxMetadata = 256 * 1024

    private static let mark = "…"

    /// The string; if it is too long, its beginning and `…`.
    package static func cut(_ text: String) -> String {
        guard text.utf8.count > maxText else { return text }
        var end = text.utf8.index(text.startIndex, offsetBy: maxText - mark.utf8.count)
        while end.samePosition(in: text.unicodeScalars) == nil { text.utf8.formIndex(before: &end) }
        return text[..<end] + mark
    }

    /// The part of a truncated string before the `…`; nil if the string isn't truncated.
    package static func beginning(ofCut text: String) -> Substring.UTF8View? {
        let bytes = text.utf8
        // The last character that fits may leave up to three bytes unused.
        guard (maxText - 3...maxText).contains(bytes.count), bytes.suffix(mark.utf8.count).elementsEqual(mark.utf8)
        else { return nil }
        return bytes.dropLast(mark.utf8.count)
    }

    /// The line with truncated strings, and as much metadata as fits, in the order of keys.
    package var bounded: LogLine {
        var line = LogLine(level: level, label: Self.cut(label), message: Self.cut(message), metadata: [:])
        var bytes = 0
        for (key, value) in metadata.sorted(by: { $0.key < $1.key }) {
            let key = Self.cut(key)
            let value = value.text.map { .text(Self.cut($0)) } ?? value
            bytes += key.utf8.count + value.byteCount
            guard bytes <= Self.maxMetadata else { break }
            line.metadata[key] = value
        }
        return line
    }
}
