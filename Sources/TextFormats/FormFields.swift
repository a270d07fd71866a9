/// The fields of a form, or of a URL's query: `application/x-www-form-urlencoded`.
package enum FormFields {
    /// - Returns: nil if the text is not percent-encoded UTF-8.
    package static func pairs(_ bytes: some Collection<UInt8>) -> [(String, String)]? {
        var pairs: [(String, String)] = []
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = PercentEncoding.decoded(bytes: parts[0], plusIsSpace: true),
                let value = PercentEncoding.decoded(bytes: parts.count == 2 ? Array(parts[1]) : [], plusIsSpace: true)
            else { return nil }
            pairs.append((name, value))
        }
        return pairs
    }

    /// The last value of each name; nothing if the text can't be decoded.
    package static func values(_ bytes: some Collection<UInt8>) -> [String: String] {
        Dictionary(pairs(bytes) ?? []) { _, last in last }
    }
}
