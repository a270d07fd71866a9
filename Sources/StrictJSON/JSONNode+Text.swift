extension JSONNode {
    /// The value's bytes in the text that it was parsed from.
    package func text(in bytes: [UInt8]) -> ArraySlice<UInt8> {
        bytes[bytes.withUnsafeBytes { range(in: $0) }]
    }

    /// The place of the value's bytes in the text that it was parsed from.
    func range(in text: UnsafeRawBufferPointer) -> Range<Int> {
        var scanner = JSONScanner(text)
        scanner.position = offset
        // This can't fail: the same bytes have been parsed before.
        try? scanner.skipValue()
        return offset..<scanner.position
    }
}
