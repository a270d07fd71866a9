/// Web origins of one domain's subdomains: `https://*.shop.example`, in which `*` stands for one label.
package struct OriginPattern: Hashable, Sendable {
    /// With the separator: `https://`.
    private let scheme: String
    /// From the point after the label: `.shop.example:8443`.
    private let rest: String

    /// - Returns: nil if this isn't a pattern. The domain may not be a top-level domain, except for `localhost`, or an
    ///   address.
    package init?(_ text: String) {
        guard let star = text.firstRange(of: "://*.") else { return nil }
        scheme = "\(text[..<star.lowerBound])://"
        let domain = text[star.upperBound...]
        rest = ".\(domain)"
        let colon = domain.utf8.firstIndex(of: UInt8(ascii: ":"))
        if let colon {
            let port = domain[domain.utf8.index(after: colon)...]
            guard let number = UInt16(port), number > 0, String(number) == port, number != usualPort else { return nil }
        }
        let labels = domain[..<(colon ?? domain.endIndex)].utf8.split(
            separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard usualPort != nil, labels.allSatisfy({ Self.isLabel($0) }), let last = labels.last else { return nil }
        // Browsers take a host whose last label is a number for an address.
        guard !last.allSatisfy({ (48...57).contains($0) }) else { return nil }
        guard labels.count > 1 || last.elementsEqual("localhost".utf8) else { return nil }
    }

    /// Which browsers leave out; nil for a scheme whose origins have no domains.
    private var usualPort: UInt16? {
        switch scheme {
        case "https://": 443
        case "http://": 80
        default: nil
        }
    }

    package func matches(_ origin: String) -> Bool {
        let (text, start, end) = (origin.utf8, scheme.utf8, rest.utf8)
        guard text.count > start.count + end.count, text.starts(with: start),
            text.suffix(end.count).elementsEqual(end)
        else { return false }
        return Self.isLabel(text.dropFirst(start.count).dropLast(end.count))
    }

    /// As browsers write labels: in small letters, and those of other alphabets in ASCII.
    private static func isLabel(_ text: some Collection<UInt8>) -> Bool {
        !text.isEmpty
            && text.allSatisfy {
                (97...122).contains($0) || (48...57).contains($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_")
            }
    }
}
