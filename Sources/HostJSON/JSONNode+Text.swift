extension JSONNode {
    /// The value as it stands in the text that it was read from.
    package func text(in bytes: [UInt8]) -> ArraySlice<UInt8> {
        var end = offset
        switch kind {
        case .null, .boolean, .integer, .double:
            while end < bytes.count, !Self.endsWord.contains(bytes[end]) { end += 1 }
        case .string, .array, .object:
            var (depth, isInString) = (0, false)
            repeat {
                switch bytes[end] {
                case UInt8(ascii: "\\"): end += 1
                case UInt8(ascii: "\""): isInString.toggle()
                case UInt8(ascii: "{") where !isInString, UInt8(ascii: "[") where !isInString: depth += 1
                case UInt8(ascii: "}") where !isInString, UInt8(ascii: "]") where !isInString: depth -= 1
                default: break
                }
                end += 1
            } while end < bytes.count && (depth > 0 || isInString)
        }
        return bytes[offset..<min(end, bytes.count)]
    }

    private static let endsWord = Set(",]} \t\r\n".utf8)
}
