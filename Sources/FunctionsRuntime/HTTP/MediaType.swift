import TextFormats

/// A header's value with parameters: `text/html; charset=utf-8`, `form-data; name="file"` (RFC 9110, 5.6.6).
struct MediaType {
    /// In lower case.
    let name: String
    /// By name in lower case; the first of each name.
    let parameters: [String: String]

    /// - Returns: nil if the value has no name, or a quoted parameter doesn't end.
    init?(_ value: String) {
        // By scalars: a mark after a separator would make one character with it.
        var rest = value.unicodeScalars[...]
        name = rest.prefix { $0 != ";" }.trimmed.lowercased()
        guard !name.isEmpty else { return nil }
        var parameters: [String: String] = [:]
        rest = rest.drop { $0 != ";" }
        while rest.first == ";" {
            rest = rest.dropFirst()
            let key = rest.prefix { $0 != "=" && $0 != ";" }
            rest = rest[key.endIndex...]
            guard rest.first == "=" else { continue }
            rest = rest.dropFirst().drop { $0 == " " || $0 == "\t" }
            guard let value = rest.first == "\"" ? Self.quoted(&rest) : Self.token(&rest) else { return nil }
            parameters[key.trimmed.lowercased(), default: value] = parameters[key.trimmed.lowercased()] ?? value
        }
        self.parameters = parameters
    }

    /// A parameter's text: that of `NAME*` (RFC 8187), decoded, which clients send for other characters than ASCII's;
    /// otherwise that of `NAME`.
    func text(_ name: String) -> String? {
        let extended = parameters[name + "*"]
        // Charset, language and percent-encoded text.
        let parts = extended?.split(separator: "'", maxSplits: 2, omittingEmptySubsequences: false) ?? []
        if parts.count == 3, parts[0].lowercased() == "utf-8", let text = PercentEncoding.decoded(parts[2]) {
            return text
        }
        return parameters[name] ?? extended
    }

    private static func token(_ rest: inout Substring.UnicodeScalarView) -> String? {
        let token = rest.prefix { $0 != ";" }
        rest = rest[token.endIndex...]
        return String(token.trimmed)
    }

    /// Browsers send `%22` for a quotation mark in a file's name, other clients a backslash before it.
    private static func quoted(_ rest: inout Substring.UnicodeScalarView) -> String? {
        var text = String.UnicodeScalarView()
        rest = rest.dropFirst()
        while let scalar = rest.popFirst() {
            switch scalar {
            case "\"":
                rest = rest.drop { $0 != ";" }
                return String(text)
            case "\\" where rest.first == "\"" || rest.first == "\\":
                if let escaped = rest.popFirst() { text.append(escaped) }
            default: text.append(scalar)
            }
        }
        return nil
    }
}

extension Substring.UnicodeScalarView {
    /// Without spaces and tabs at both ends.
    var trimmed: Substring {
        var text = drop { $0 == " " || $0 == "\t" }
        while let last = text.last, last == " " || last == "\t" { text.removeLast() }
        return Substring(text)
    }
}
