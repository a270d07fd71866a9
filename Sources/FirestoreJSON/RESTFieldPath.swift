package import DocumentModel

extension FieldPath {
    /// Parses a field path in the format of Firestore's requests, in which a segment that isn't a plain identifier is
    /// quoted in backticks.
    ///
    /// - Throws: `invalidArgument` if such a segment isn't quoted, or if the path is malformed.
    package init(rest text: String) throws(DocumentError) {
        try self.init(text)
        guard !segments.contains(where: \.isEmpty) else {
            throw .invalidArgument("field path \"\(text)\" has an empty segment")
        }
        var isQuoted = false
        var isFirst = true
        var isEscaped = false
        for byte in text.utf8 {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "`") {
                isQuoted.toggle()
            } else if isQuoted {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: ".") {
                isFirst = true
                continue
            } else {
                guard Self.isPlain(byte, isFirst: isFirst) else {
                    throw .invalidArgument(
                        "field path \"\(text)\" has a segment that isn't an identifier; put it in backticks")
                }
            }
            isFirst = false
        }
    }

    private static func isPlain(_ byte: UInt8, isFirst: Bool) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "_"): true
        case UInt8(ascii: "0")...UInt8(ascii: "9"): !isFirst
        default: false
        }
    }
}
