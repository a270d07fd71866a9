import TextFormats

/// A text by RFC 2045: lines of at most 76 characters of ASCII.
enum QuotedPrintable {
    private static let longestLine = 76

    /// - Parameter text: with any line ends.
    static func encode(_ text: String) -> String {
        // A line end of CR LF is one character.
        text.split(omittingEmptySubsequences: false) { $0.isNewline }.map { line($0) }.joined(separator: "\r\n")
    }

    private static func line(_ text: Substring) -> String {
        var encoded = ""
        var length = 0
        let bytes = Array(text.utf8)
        for (index, byte) in bytes.enumerated() {
            let isLast = index == bytes.count - 1
            let isPlain = (33...126).contains(byte) && byte != 61 || (byte == 32 || byte == 9) && !isLast
            let piece = isPlain ? String(UnicodeScalar(byte)) : "=" + Hexadecimal.encode([byte]).uppercased()
            if length + piece.utf8.count > longestLine - 1 {
                encoded += "=\r\n"
                length = 0
            }
            encoded += piece
            length += piece.utf8.count
        }
        return encoded
    }
}
