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

    /// The last value of each name. What is not percent-encoded UTF-8 is ``PercentEncoding/repaired(_:)``:
    /// the SDK of iOS sends the fields of a provider decoded, and names may have percent signs.
    package static func values(_ bytes: some Collection<UInt8>) -> [String: String] {
        var values: [String: String] = [:]
        for pair in bytes.split(separator: UInt8(ascii: "&")) {
            let parts = pair.split(separator: UInt8(ascii: "="), maxSplits: 1, omittingEmptySubsequences: false)
            guard let name = lenient(Array(parts[0])), let value = lenient(parts.count == 2 ? Array(parts[1]) : [])
            else { continue }
            values[name] = value
        }
        return values
    }

    /// - Returns: nil if the text has too many ``CombiningMarks``.
    private static func lenient(_ bytes: [UInt8]) -> String? {
        if let text = PercentEncoding.decoded(bytes: bytes, plusIsSpace: true) { return text }
        let text = PercentEncoding.repaired(bytes)
        return CombiningMarks.areFew(in: text) ? text : nil
    }
}
