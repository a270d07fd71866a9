extension JSONNode {
    /// The value's bytes in the text that it was parsed from.
    package func text(in bytes: [UInt8]) -> ArraySlice<UInt8> {
        let end = bytes.withUnsafeBytes { buffer in
            var scanner = JSONScanner(buffer)
            scanner.position = offset
            // This can't fail: the same bytes have been parsed before.
            try? scanner.skipValue()
            return scanner.position
        }
        return bytes[offset..<end]
    }
}
